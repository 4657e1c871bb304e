// Brings other JavaScript runtimes beside the one that is installed: npm packages, pinned by their hashes.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { must, note, root, SetupError } from "./run.mjs";

/** Where they are kept; `target` outlives `npm ci`. */
const home = join(root, "target", "runtimes");

const pinned = JSON.parse(readFileSync(new URL("./runtimes.json", import.meta.url), "utf8"));

/** The packages are of this platform. */
export const hasRuntimes = process.platform === "linux" && process.arch === "x64";

/** A project that depends on the runtime's package alone: npm compares the hash of what it fetched with the lock file's. */
function writeProject(folder, { package: name, version, integrity }) {
  const dependencies = { [name]: version };
  const lock = {
    name: "runtime",
    lockfileVersion: 3,
    requires: true,
    packages: { "": { name: "runtime", dependencies }, [`node_modules/${name}`]: { version, integrity } },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "runtime", private: true, dependencies }));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
}

function install(folder) {
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  // Under `npm run` this is the very npm that was called; started by hand, the one on PATH.
  const npm = process.env.npm_execpath;
  if (npm?.endsWith(".js")) must(process.execPath, [npm, ...args], { cwd: folder });
  else must("npm", args, { cwd: folder });
}

/** The versions of a runtime that are pinned. */
export function versionsOf(name) {
  return pinned.filter((one) => one.name === name).map(({ version }) => version);
}

/**
 * The path of a runtime's executable; fetches it when it is not there yet.
 * @throws SetupError when it is not pinned, or is of no use on this platform.
 */
export async function runtime(name, version) {
  const wanted = pinned.find((one) => one.name === name && one.version === version);
  if (wanted === undefined) throw new SetupError(`${name} ${version} is not among scripts/support/runtimes.json`);
  if (!hasRuntimes) throw new SetupError(`${name} ${version} is fetched on Linux x64 only`);
  const place = join(home, `${name}-${version}`);
  const executable = join(place, "node_modules", wanted.package, wanted.executable);
  if (existsSync(executable)) return executable;
  note(`fetching ${name} ${version}`);
  mkdirSync(home, { recursive: true });
  // Renamed into its place when complete: an interrupted run leaves nothing that looks like it.
  const scratch = mkdtempSync(join(home, "fetch-"));
  try {
    writeProject(scratch, wanted);
    install(scratch);
    rmSync(place, { recursive: true, force: true });
    renameSync(scratch, place);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return executable;
}
