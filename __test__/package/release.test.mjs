// What a release is made with: the version script, the set of packages, and the lists that must agree.
import assert from "node:assert/strict";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";

import { join } from "node:path";
import { before, test } from "node:test";
import { changelog } from "../../scripts/changelog.mjs";
import { lintWorkflow } from "../../scripts/lint-workflows.mjs";
import { platformOf } from "../../scripts/support/binary.mjs";
import { packPlatform, publishedManifest } from "../../scripts/support/pack.mjs";
import { manifestOf, packageOf, platforms, triples } from "../../scripts/support/platforms.mjs";
import { startRegistry } from "../../scripts/support/registry.mjs";
import { releaseSet } from "../../scripts/support/release-set.mjs";
import { root } from "../../scripts/support/run.mjs";
import { setVersion } from "../../scripts/version.mjs";
import { packages, run, succeed, version } from "./support.mjs";

const scratch = (name) => mkdtempSync(join(packages.scratch, `${name}-`));

test("every list of platforms is the same", () => {
  assert.deepEqual(readdirSync(join(root, "npm")).sort(), [...platforms].sort());
  assert.deepEqual(manifestOf(".").napi.targets, Object.values(triples));
  const loader = readFileSync(join(root, "dist", "load-binding.js"), "utf8");
  const [, list] = /PLATFORMS = \[([^\]]*)\]/.exec(loader);
  assert.deepEqual(list.match(/[a-z0-9-]{4,}/g), platforms);
});

for (const platform of platforms) {
  test(`npm/${platform} asks for that platform and for nothing else`, () => {
    const [os, cpu, abi] = platform.split("-");
    const { name, os: systems, cpu: cpus, libc, main, files, scripts, dependencies } = manifestOf(`npm/${platform}`);
    assert.equal(name, packageOf(platform));
    assert.deepEqual([systems, cpus, libc], [[os], [cpu], { gnu: ["glibc"], musl: ["musl"] }[abi]]);
    assert.deepEqual([main], files);
    assert.deepEqual([scripts, dependencies], [undefined, undefined]);
  });
}

/** A file that begins like a platform's binary does; enough for a check that reads headers and looks for the version. */
function headOf(platform) {
  const [os, cpu, abi] = platform.split("-");
  const bytes = Buffer.alloc(256);
  bytes.write(`${version}\0libc.so${abi === "gnu" ? ".6" : ""}\0`, 160);
  bytes.write("\0", 159);
  if (os === "linux") {
    bytes.writeUInt32BE(0x7f454c46, 0);
    bytes.writeUInt16LE(cpu === "x64" ? 0x3e : 0xb7, 18);
  } else if (os === "darwin") {
    bytes.writeUInt32LE(0xfeedfacf, 0);
    bytes.writeUInt32LE(cpu === "x64" ? 0x01000007 : 0x0100000c, 4);
  } else {
    bytes.writeUInt16BE(0x4d5a, 0);
    bytes.writeUInt32LE(0x80, 0x3c);
    bytes.writeUInt16LE(cpu === "x64" ? 0x8664 : 0xaa64, 0x84);
  }
  return bytes;
}

test("the addon of this checkout is recognised as this platform's", () => {
  const addon = join(root, `dialcache-native.${packages.host}.node`);
  assert.equal(platformOf(readFileSync(addon)), packages.host);
});

/** A folder with a whole release; the binaries of other platforms are headers alone. */
function wholeSet() {
  const folder = scratch("set");
  cpSync(whole, folder, { recursive: true });
  return folder;
}

let whole;
before(() => {
  whole = scratch("whole");
  copyFileSync(packages.main, join(whole, `dialcache-native-${version}.tgz`));
  for (const platform of platforms) pack(platform, headOf(platform), whole);
});

function pack(platform, bytes, folder) {
  const binary = join(scratch("binary"), "binary");
  writeFileSync(binary, bytes);
  return packPlatform(platform, binary, folder);
}

function publish(folder, option, registry) {
  const args = [join(root, "scripts", "publish.mjs"), folder, ...(option ? [option] : [])];
  return run(process.execPath, args, { env: registry ? { npm_config_registry: registry } : {} });
}

test("a whole release is published in order: the binaries, and then what asks for them", async () => {
  const folder = wholeSet();
  const order = releaseSet(folder).map((tarball) => tarball.slice(folder.length + 1));
  assert.deepEqual(
    order,
    [...platforms.map(packageOf), "dialcache-native"].map((name) => `${name}-${version}.tgz`),
  );
  const { status, output } = await publish(folder, "--check");
  assert.equal(status, 0, output);
  const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8");
  assert.deepEqual(sums.match(/\S+\.tgz$/gm), order);
  if (process.platform === "linux") await succeed("sha256sum", ["--check", "SHA256SUMS"], { cwd: folder });
});

test("npm would publish each of them", async () => {
  const registry = await startRegistry([]);
  const { status, output } = await publish(wholeSet(), "--dry-run", registry.url);
  registry.stop();
  assert.equal(status, 0, output);
  for (const name of [...platforms.map(packageOf), "dialcache-native"]) {
    assert.ok(output.includes(`+ ${name}@${version}`), output);
  }
});

test("a publication that broke off is taken up again: what the registry has is left alone", async () => {
  const { status, output } = await publish(wholeSet(), undefined, packages.registry);
  assert.equal(status, 0, output);
  assert.equal(output.match(/is published already/g)?.length, platforms.length + 1, output);
});

const faults = {
  "a platform is missing": [
    (folder) => rmSync(join(folder, `${packageOf("darwin-arm64")}-${version}.tgz`)),
    `${packageOf("darwin-arm64")}-VERSION.tgz is missing`,
  ],
  "the root is missing": [
    (folder) => rmSync(join(folder, `dialcache-native-${version}.tgz`)),
    "dialcache-native-VERSION.tgz is missing",
  ],
  "something is left over": [
    (folder) => writeFileSync(join(folder, "dialcache-native-0.0.0.tgz"), ""),
    "dialcache-native-0.0.0.tgz does not belong there",
  ],
  "a binary is another platform's": [
    (folder) => pack("darwin-x64", headOf("darwin-arm64"), folder),
    `the binary of ${packageOf("darwin-x64")} is one of darwin-arm64`,
  ],
  "a glibc binary is in a musl package": [
    (folder) => pack("linux-x64-musl", headOf("linux-x64-gnu"), folder),
    `the binary of ${packageOf("linux-x64-musl")} is one of linux-x64-gnu`,
  ],
  "a binary is a text": [
    (folder) => pack("win32-x64-msvc", Buffer.from("not found ".repeat(20)), folder),
    `the binary of ${packageOf("win32-x64-msvc")} is one of no platform`,
  ],
  "a binary is of another version": [
    (folder) =>
      pack(
        "linux-arm64-gnu",
        Buffer.from(headOf("linux-arm64-gnu").toString("latin1").replace(version, "9.9.9"), "latin1"),
        folder,
      ),
    `the binary of ${packageOf("linux-arm64-gnu")} is of another version`,
  ],
};

for (const [name, [break_, problem]] of Object.entries(faults)) {
  test(`nothing is published when ${name}`, async () => {
    const folder = wholeSet();
    break_(folder);
    for (const option of ["--check", "--dry-run"]) {
      const { status, output } = await publish(folder, option);
      assert.equal(status, 1, output);
      assert.ok(output.includes(`the release is not complete: ${problem.replace("VERSION", version)}`), output);
      assert.doesNotMatch(output, /^\+ /m);
    }
  });
}

/** The files of this checkout that hold the version. */
function checkout() {
  const folder = scratch("version");
  for (const path of ["package.json", "package-lock.json", "Cargo.toml", "Cargo.lock", "npm"]) {
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  mkdirSync(join(folder, "src"));
  writeFileSync(join(folder, "src", "lib.rs"), "");
  return folder;
}

test("the version script sets every version at once, and the lock files stay those of the manifests", async () => {
  const folder = checkout();
  const changed = setVersion("7.8.9-rc.1", folder);
  assert.equal(changed.length, 4 + platforms.length);
  const read = (path) => readFileSync(join(folder, path), "utf8");
  const json = (path) => JSON.parse(read(path));
  for (const path of ["package.json", ...platforms.map((name) => `npm/${name}/package.json`)]) {
    assert.deepEqual(json(path), { ...JSON.parse(readFileSync(join(root, path), "utf8")), version: "7.8.9-rc.1" });
  }
  assert.equal(json("package-lock.json").packages[""].version, "7.8.9-rc.1");
  assert.match(read("Cargo.toml"), /^version = "7\.8\.9-rc\.1"$/m);
  assert.match(read("Cargo.lock"), /^name = "dialcache-native"\nversion = "7\.8\.9-rc\.1"$/m);
  // And back: nothing else was touched.
  setVersion(version, folder);
  for (const path of changed) {
    const relative = path.slice(folder.length + 1);
    assert.equal(read(relative), readFileSync(join(root, relative), "utf8"), relative);
  }
});

test("the version script refuses what is no version, and then changes nothing", async () => {
  const folder = checkout();
  for (const wrong of ["", "1", "1.2", "v1.2.3", "1.2.3-", "01.2.3", "1.2.3-01", "latest", "1.2.3+build"]) {
    const { status, output } = await run(process.execPath, [join(root, "scripts", "version.mjs"), wrong, folder]);
    assert.equal(status, 1, wrong);
    assert.match(output, /is not a semantic version/);
  }
  assert.equal(readFileSync(join(folder, "package.json"), "utf8"), readFileSync(join(root, "package.json"), "utf8"));
});

test("the published manifest has no way to run anything, and is not private", () => {
  const manifest = publishedManifest();
  for (const name of ["private", "scripts", "devDependencies", "dependencies", "workspaces"]) {
    assert.ok(!(name in manifest), name);
  }
});

const workflow = (name) => readFileSync(join(root, ".github", "workflows", name), "utf8");

test("the release workflow builds and tries every platform", () => {
  const [, build, attempt] = workflow("release.yml").split(/^ {8}include:$/m);
  const builds = [...build.matchAll(/- platform: (\S+)\n +runner: \S+\n +triple: (\S+)$/gm)];
  assert.deepEqual(Object.fromEntries(builds.map(([, platform, triple]) => [platform, triple])), triples);
  const tried = [...attempt.matchAll(/- platform: (\S+)$/gm)].map(([, platform]) => platform);
  assert.deepEqual(tried, platforms);
});

test("the workflows pass their linter, which finds what is wrong with one", async () => {
  for (const name of readdirSync(join(root, ".github", "workflows"))) {
    assert.deepEqual(await lintWorkflow(workflow(name), name), []);
  }
  const broken = workflow("release.yml").replace("needs: build", "needs: built");
  const [problem] = await lintWorkflow(broken, "release.yml");
  assert.match(problem, /needs job "built"|built.* does not exist/);
});

/** A repository whose commits have these subjects; a subject that begins with "tag " tags the commit before. */
async function repository(subjects) {
  const folder = scratch("repository");
  const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"];
  const git = (...args) => succeed("git", [...identity, ...args], { cwd: folder });
  await git("init", "--quiet");
  for (const subject of subjects) {
    if (subject.startsWith("tag ")) await git("tag", subject.slice(4));
    else await git("commit", "--quiet", "--allow-empty", "-m", subject);
  }
  return folder;
}

test("the changelog has what users see of each version, by kind, and is the same every time", async () => {
  const folder = await repository([
    ...["feat: first", "fix: of what nobody had", "tag v0.1.0"],
    ...[
      "feat!: other defaults",
      "fix(remote): a leak",
      "perf: less work",
      "fix(bench): a figure",
      "test: more",
      "words",
    ],
    ...["tag v0.2.0", "feat: third"],
  ]);
  const text = changelog(undefined, folder);
  const sections = text.replace(/ - \d{4}-\d\d-\d\d$/gm, "").split(/^## /m);
  assert.equal(sections.length, 4, text);
  assert.equal(sections[1], "[Unreleased]\n\n### Added\n\n- third\n\n");
  assert.equal(
    sections[2],
    "[0.2.0]\n\n### Added\n\n- **Breaking:** other defaults\n\n### Fixed\n\n- remote: a leak\n\n### Faster\n\n- less work\n\n",
  );
  assert.match(sections[3], /^\[0\.1\.0\]\n\nFirst version.*\n\n### Added\n\n- first\n$/);
  assert.equal(changelog(undefined, folder), text);
  assert.ok(changelog("v0.3.0", folder).includes("## [0.3.0]"));
});
