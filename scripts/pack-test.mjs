// Installs the packed tarballs into empty projects, as a user would, and uses them there.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { packAll } from "./pack.mjs";
import { root } from "./support/run.mjs";

const scratch = mkdtempSync(join(tmpdir(), "dialcache-pack-"));
const fixtures = join(root, "__test__", "package");
const bin = (path) => join(root, "node_modules", path);

function run(command, args, cwd) {
  // Not this repository's npm settings: a user's `npm install` runs without them.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(?:package|lifecycle)_/.test(name)),
  );
  const options = {
    cwd,
    encoding: "utf8",
    env,
    timeout: 180_000,
    shell: process.platform === "win32" && command === "npm",
  };
  const { status, stdout, stderr } = spawnSync(command, args, options);
  return { status, output: `${stdout}${stderr}` };
}

function succeed(command, args, cwd) {
  const { status, output } = run(command, args, cwd);
  assert.equal(status, 0, `${[command, ...args].join(" ")} failed:\n${output}`);
  return output;
}

function project(name, manifest, packages) {
  const folder = join(scratch, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, private: true, ...manifest }));
  const flags = ["--no-audit", "--no-fund", "--no-package-lock", "--offline", "--loglevel=error"];
  succeed("npm", ["install", ...flags, ...packages], folder);
  return folder;
}

function use(folder, script) {
  assert.match(succeed(process.execPath, [script], folder), /^used$/m);
}

// Before any test is named: without the tarballs there is nothing to test.
const tarballs = packAll(join(scratch, "packages"));

after(() => rmSync(scratch, { recursive: true, force: true }));

test("a CommonJS project can use the package", () => {
  const folder = project("cjs", {}, [tarballs.main, tarballs.platform]);
  cpSync(join(fixtures, "cjs"), folder, { recursive: true });
  use(folder, "use.js");
});

test("an ES module project can use the package", () => {
  const folder = project("esm", { type: "module" }, [tarballs.main, tarballs.platform]);
  cpSync(join(fixtures, "esm"), folder, { recursive: true });
  use(folder, "use.mjs");
});

const settings = {
  "node16-cjs": { type: "commonjs", module: "node16", moduleResolution: "node16" },
  "node16-esm": { type: "module", module: "node16", moduleResolution: "node16" },
  "bundler-esm": { type: "module", module: "esnext", moduleResolution: "bundler" },
};

for (const [name, { type, ...compiler }] of Object.entries(settings)) {
  test(`a TypeScript project (${name}) compiles against the package and uses it`, () => {
    const folder = project(name, { type }, [tarballs.main, tarballs.platform]);
    cpSync(join(fixtures, "typescript"), folder, { recursive: true });
    mkdirSync(join(folder, "node_modules", "@types"));
    symlinkSync(bin("@types/node"), join(folder, "node_modules", "@types", "node"), "junction");
    const compilerOptions = { ...compiler, target: "es2022", strict: true, outDir: "out", types: [] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
    succeed(process.execPath, [bin("typescript/bin/tsc"), "-p", "."], folder);
    use(folder, join("out", "use.js"));
  });
}

function loadError(folder) {
  const script = 'try { require("dialcache-native") } catch (error) { console.log(error.message) }';
  return succeed(process.execPath, ["-e", script], folder).trim();
}

test("a missing binary package is reported in one line that names it", () => {
  const folder = project("missing", {}, ["--omit=optional", tarballs.main]);
  assert.match(loadError(folder), /^.*npm install dialcache-native-[a-z0-9]+-[a-z0-9]+.*$/);
});

test("a binary that does not load is reported in one line with the reason", () => {
  const folder = project("broken", {}, [tarballs.main, tarballs.platform]);
  const platform = basename(tarballs.platform).replace(/-\d.*$/, "");
  const { main: binary } = JSON.parse(readFileSync(join(folder, "node_modules", platform, "package.json"), "utf8"));
  writeFileSync(join(folder, "node_modules", platform, binary), "not a shared library");
  assert.match(loadError(folder), /^.*does not load: .+$/);
});

test("publint finds nothing to complain about", () => {
  for (const tarball of Object.values(tarballs)) {
    succeed(process.execPath, [bin("publint/src/cli.js"), "run", tarball, "--strict"], root);
  }
});

test("arethetypeswrong finds nothing wrong", () => {
  succeed(process.execPath, [bin("@arethetypeswrong/cli/dist/index.js"), tarballs.main], root);
});
