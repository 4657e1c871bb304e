// The Node versions that workloads run on: this one, and those that were asked for.
import { spawnSync } from "node:child_process";
import { note, SetupError } from "../support/run.mjs";
import { hasRuntimes, runtime, versionsOf } from "../support/runtimes.mjs";

/** @returns `{ path, version }` of each, this one first. */
export async function nodes({ alsoMajors, alsoPaths }) {
  const found = [{ path: process.execPath, version: process.versions.node }];
  for (const major of alsoMajors) {
    const version = versionsOf("node").find((one) => one.startsWith(`${major}.`));
    if (version === undefined) throw new SetupError(`no Node ${major} is among scripts/support/runtimes.json`);
    if (hasRuntimes) found.push({ path: await runtime("node", version), version });
    else note(`Node ${major} is left out: it is fetched on Linux x64 only`);
  }
  for (const path of alsoPaths) found.push({ path, version: versionAt(path) });
  return found;
}

function versionAt(path) {
  const { status, stdout } = spawnSync(path, ["-p", "process.versions.node"], { encoding: "utf8" });
  if (status !== 0) throw new SetupError(`${path} is not a Node that runs`);
  return stdout.trim();
}
