// All static checks. Runs every one of them, and then fails when any failed.
import { spawnSync } from "node:child_process";
import { ensure } from "./ensure.mjs";
import { orphans } from "./support/orphans.mjs";
import { main, note, root, SetupError, status } from "./support/run.mjs";

// The feature sets the crate is used with: each must be free of warnings on its own.
const featureSets = [["--no-default-features"], ["--no-default-features", "--features", "remote"], ["--all-features"]];

const node = (script, ...args) => [process.execPath, [script, ...args]];

const checks = [
  ["cargo", ["fmt", "--check"]],
  ...["models", "fuzz"].map((name) => ["cargo", ["fmt", "--check", "--manifest-path", `${name}/Cargo.toml`]]),
  // Their lock files follow the package's dependencies, which nobody remembers.
  ...["models", "fuzz"].map((name) => [
    "cargo",
    ["fetch", "--locked", "--quiet", "--manifest-path", `${name}/Cargo.toml`],
  ]),
  ...featureSets.map((set) => ["cargo", ["clippy", "--all-targets", ...set, "--", "-D", "warnings"]]),
  ...featureSets.map((set) => ["cargo", ["doc", "--no-deps", ...set], { RUSTDOCFLAGS: "-D warnings" }]),
  node("node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."),
  node("node_modules/typescript/bin/tsc", "-p", "tsconfig.json"),
  node("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--noEmit"),
  node("scripts/emit-types.mjs", "--check"),
  node("scripts/lint-workflows.mjs"),
  // What users install; there is nothing to ask a registry for as long as that is the binaries alone.
  ["npm", ["audit", "--omit=dev"]],
];

/** Licences, bans and sources; the advisories need the network and are asked for by the release, not by every change. */
function dependencyCheck() {
  const installed = spawnSync("cargo", ["deny", "--version"], { cwd: root, stdio: "ignore" }).status === 0;
  if (installed) return [["cargo", ["deny", "check", "licenses", "bans", "sources"]]];
  note("cargo-deny is not installed (cargo install cargo-deny --locked): its checks are left out");
  return [];
}

await main(() => {
  ensure(["modules", "addon"]);
  const failed = [...checks, ...dependencyCheck()].filter(([command, args, env]) => {
    note([command === process.execPath ? "node" : command, ...args].join(" "));
    return status(command, args, { env: { ...process.env, ...env } }) !== 0;
  });
  const lost = [...orphans("src"), ...orphans("tests")];
  if (lost.length > 0) throw new SetupError(`no module names ${lost.join(", ")}`);
  const names = failed.map(([command, args]) => [command, ...args].join(" ").replace(process.execPath, "node"));
  if (failed.length > 0) throw new SetupError(`failed: ${names.join("; ")}`);
  note("no problems found");
});
