// Chooses how the Rust tests are run.
import { spawnSync } from "node:child_process";
import { must, note, root } from "./run.mjs";

function hasNextest() {
  return spawnSync("cargo", ["nextest", "--version"], { cwd: root, stdio: "ignore" }).status === 0;
}

/** The cargo subcommand: nextest where it is installed, else `cargo test`, which runs the same tests. */
export function cargoRunner() {
  if (hasNextest()) return ["nextest", "run"];
  if (process.env.CI) {
    note("installing cargo-nextest");
    must("cargo", ["install", "cargo-nextest", "--locked"]);
    if (hasNextest()) return ["nextest", "run"];
  }
  note("cargo-nextest is not installed (cargo install cargo-nextest --locked): using cargo test");
  return ["test"];
}
