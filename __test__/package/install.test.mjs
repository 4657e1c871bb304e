import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { platforms } from "../../scripts/support/platforms.mjs";
import { manifestOfTarball } from "../../scripts/support/registry.mjs";
import {
  emptyProject,
  fixture,
  npmInstall,
  own,
  packages,
  project,
  succeed,
  tool,
  use,
  version,
  withRedis,
} from "./support.mjs";

test("an install brings the package and this platform's binary, and nothing else", async () => {
  const folder = await project("only");
  const names = readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."));
  assert.deepEqual(names.sort(), ["dialcache-native", `dialcache-native-${packages.host}`].sort());
});

test("depends on its binaries alone, at its own version, and runs nothing when it is installed", () => {
  const manifest = manifestOfTarball(packages.main);
  const binaries = platforms.map((platform) => [`dialcache-native-${platform}`, version]);
  assert.deepEqual(manifest.optionalDependencies, Object.fromEntries(binaries));
  for (const { dependencies, bundleDependencies, scripts } of [manifest, manifestOfTarball(packages.platform)]) {
    assert.deepEqual([dependencies, bundleDependencies, scripts], [undefined, undefined, undefined]);
  }
});

// What an npm that runs elsewhere would choose.
for (const platform of platforms.filter((name) => name !== packages.host)) {
  test(`an install for ${platform} brings its binary alone`, async () => {
    const [os, cpu, abi] = platform.split("-");
    const folder = emptyProject(platform);
    const libc = abi === "musl" ? "musl" : "glibc";
    const flags = os === "linux" ? [`--libc=${libc}`] : [];
    await npmInstall(folder, "dialcache-native", `--os=${os}`, `--cpu=${cpu}`, ...flags);
    const names = readdirSync(join(folder, "node_modules")).filter((name) => name.startsWith("dialcache-native-"));
    assert.deepEqual(names, [`dialcache-native-${platform}`]);
  });
}

test("a CommonJS project can use the package", async () => {
  const folder = await project("cjs", { files: "service" });
  await use(process.execPath, ["use.cjs"], { cwd: folder });
});

test("an ES module project can use the package", async () => {
  const folder = await project("esm", { manifest: { type: "module" }, files: "service" });
  await use(process.execPath, ["use.mjs"], { cwd: folder });
});

const settings = {
  "node16-cjs": { type: "commonjs", module: "node16", moduleResolution: "node16" },
  "node16-esm": { type: "module", module: "node16", moduleResolution: "node16" },
  "bundler-esm": { type: "module", module: "esnext", moduleResolution: "bundler" },
};

for (const [name, { type, ...compiler }] of Object.entries(settings)) {
  test(`a TypeScript project (${name}) compiles against the package and uses it`, async () => {
    const folder = await project(name, { manifest: { type }, files: "typescript" });
    mkdirSync(join(folder, "node_modules", "@types"));
    symlinkSync(own("@types/node"), join(folder, "node_modules", "@types", "node"), "junction");
    const compilerOptions = { ...compiler, target: "es2022", strict: true, outDir: "out", types: [] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
    await succeed(process.execPath, [own("typescript/bin/tsc"), "-p", "."], { cwd: folder });
    await use(process.execPath, [join("out", "use.js")], { cwd: folder });
  });
}

test("pnpm's strict layout: the package finds its binary, and a project only what it asked for", async () => {
  const folder = emptyProject("pnpm", { dependencies: { "dialcache-native": version } });
  cpSync(fixture("service"), folder, { recursive: true });
  const store = join(packages.scratch, "pnpm-store");
  // Nothing of a test may stay in the user's store and caches.
  const env = { XDG_CACHE_HOME: store, XDG_DATA_HOME: store, XDG_STATE_HOME: store, CI: "true" };
  const args = ["install", "--store-dir", store, "--no-frozen-lockfile"];
  await succeed(process.execPath, [tool("pnpm/bin/pnpm.cjs"), ...args], { cwd: folder, env });
  const names = readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."));
  assert.deepEqual(names, ["dialcache-native"]);
  await withRedis(async (env) => {
    for (const service of ["service.mjs", "service.cjs"]) await use(process.execPath, [service], { cwd: folder, env });
  });
});

test("publint finds nothing to complain about", async () => {
  for (const tarball of [packages.main, packages.platform]) {
    await succeed(process.execPath, [own("publint/src/cli.js"), "run", tarball, "--strict"]);
  }
});

test("arethetypeswrong finds nothing wrong", async () => {
  await succeed(process.execPath, [own("@arethetypeswrong/cli/dist/index.js"), packages.main]);
});
