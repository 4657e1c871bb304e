// What is wrong with an installation, said in one line that also says what to type; where it says something to type, it
// is typed here.
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { emptyProject, loadError, npmInstall, packages, project, run, succeed, version } from "./support.mjs";

const { host } = packages;
/** Another platform than this one. */
const [foreign, ...foreignFlags] =
  process.platform === "darwin"
    ? ["linux-arm64-gnu", "--os=linux", "--cpu=arm64", "--libc=glibc"]
    : ["darwin-arm64", "--os=darwin", "--cpu=arm64"];

/** The message is one line, names the platform, and what it says to type is in it. */
function assertSays(message, ...parts) {
  assert.doesNotMatch(message, /\n/);
  for (const part of ["dialcache-native: ", ...parts]) assert.ok(message.includes(part), `no "${part}" in: ${message}`);
}

async function assertFreshInstallHelps(folder, message) {
  assertSays(message, `delete node_modules and package-lock.json and run "npm install" on this platform`);
  for (const name of ["node_modules", "package-lock.json"])
    rmSync(join(folder, name), { recursive: true, force: true });
  await npmInstall(folder);
  assert.equal(await loadError(folder), "loaded");
}

test("installed with --omit=optional: names the binary and the install that brings it", async () => {
  const folder = emptyProject("omitted");
  await npmInstall(folder, "--omit=optional", "dialcache-native");
  assertSays(
    await loadError(folder),
    `the binary for ${host} is not installed`,
    'run "npm install --include=optional"',
  );
  await npmInstall(folder, "--include=optional");
  assert.equal(await loadError(folder), "loaded");
});

test("a lock file from another platform works here", async () => {
  const folder = emptyProject("lock");
  await npmInstall(folder, "--package-lock-only", "dialcache-native", ...foreignFlags);
  await succeed("npm", ["ci"], { cwd: folder });
  assert.equal(await loadError(folder), "loaded");
});

test("a lock file that has only another platform's binary: npm or the package names the one that is missing", async () => {
  const folder = await project("lock");
  const path = join(folder, "package-lock.json");
  const lock = JSON.parse(readFileSync(path, "utf8"));
  for (const name of Object.keys(lock.packages)) {
    if (/dialcache-native-/.test(name) && !name.endsWith(foreign)) delete lock.packages[name];
  }
  writeFileSync(path, JSON.stringify(lock));
  // Newer npms refuse such a file, older ones leave the binary out.
  const { status, output } = await run("npm", ["ci"], { cwd: folder });
  if (status !== 0) {
    assert.ok(output.includes(`Missing: dialcache-native-${host}@${version} from lock file`), output);
    return;
  }
  const message = await loadError(folder);
  assertSays(message, `the binary for ${host} is not installed`, "the lock file comes from another platform");
  await assertFreshInstallHelps(folder, message);
});

test("node_modules copied from another platform: names both platforms", async () => {
  const folder = emptyProject("copied");
  await npmInstall(folder, "dialcache-native", ...foreignFlags);
  const message = await loadError(folder);
  assertSays(message, `the binary for ${host} is not installed, but the one for ${foreign}`);
  await assertFreshInstallHelps(folder, message);
});

test("a binary that does not load: gives the reason", async () => {
  const folder = await project("broken");
  const installed = join(folder, "node_modules", `dialcache-native-${host}`);
  const { main } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  writeFileSync(join(installed, main), "not a shared library");
  const message = await loadError(folder);
  assertSays(message, `the binary for ${host} does not load: `);
  assert.match(message, /does not load: .*\.node/);
  await assertFreshInstallHelps(folder, message);
});

const skew = `run "npm install dialcache-native@`;

test("a package newer than its binary: names both versions", async () => {
  const folder = await project("newer");
  const path = join(folder, "node_modules", "dialcache-native", "package.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...manifest, version: "99.1.0" }));
  const message = await loadError(folder);
  assertSays(message, `version skew: the package is 99.1.0, its binary for ${host} ${version}`, `${skew}99.1.0`);
  await assertFreshInstallHelps(folder, message);
});

test("a binary from before it told its version: calls it older", async () => {
  const folder = await project("untold");
  const old = join(folder, "old.cjs");
  writeFileSync(old, "module.exports = {};");
  const message = await loadError(folder, { NAPI_RS_NATIVE_LIBRARY_PATH: old });
  assertSays(message, `version skew: the package is ${version}, its binary for ${host} older`, `${skew}${version}`);
});

/** Loads the package in a process that takes itself for another platform. */
async function loadErrorAs(folder, pretence) {
  const preload = join(folder, "pretend.cjs");
  writeFileSync(preload, pretence);
  return loadError(folder, { NODE_OPTIONS: `--require ${preload}` });
}

test("a platform without a binary: says so and lists those with one", async () => {
  const folder = await project("unsupported");
  const pretence = 'Object.defineProperty(process, "arch", { value: "riscv64" });';
  const message = await loadErrorAs(folder, pretence);
  assertSays(
    message,
    "there is no binary for ",
    "-riscv64",
    "only for linux-x64-gnu, linux-arm64-gnu",
    "win32-arm64-msvc",
  );
});

test("a musl system with the glibc binary: names each as such", { skip: process.platform !== "linux" }, async () => {
  const folder = await project("musl");
  // What the loader looks at: the ldd script, and the process's own report.
  const pretence = `
    const fs = require("node:fs");
    const { readFileSync } = fs;
    fs.readFileSync = (path, ...rest) => (path === "/usr/bin/ldd" ? "musl libc" : readFileSync(path, ...rest));
    process.report.getReport = () => ({ header: {}, sharedObjects: ["/lib/ld-musl-x86_64.so.1"] });`;
  const message = await loadErrorAs(folder, pretence);
  const musl = host.replace("gnu", "musl");
  assertSays(message, `the binary for ${musl} is not installed, but the one for ${host}`);
});
