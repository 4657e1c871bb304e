// Brings a checkout to where it can run: dependencies, a Redis server, the addon and the compiled JavaScript, each only
// when missing or out of date. Uses nothing but Node, so that it works in a fresh clone.
//
//   node scripts/ensure.mjs [modules] [redis] [servers] [addon] [dist]      (default: all but the servers, which only
//                                                                            tests need)
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { buildAddon, buildDist } from "./build.mjs";
import { ensureRedis } from "./support/redis.mjs";
import { isMain, main, must, note, root, SetupError, which } from "./support/run.mjs";
import { ensureServers } from "./support/servers.mjs";

/**
 * Installs a folder's locked dependencies when the lock file, Node's major version or the platform is not the installed
 * one.
 */
export function ensureModules(folder = root) {
  const lock = readFileSync(join(folder, "package-lock.json"));
  const wanted = createHash("sha256")
    .update(lock)
    .update(`${process.versions.modules} ${process.platform} ${process.arch}`)
    .digest("hex");
  const stamp = join(folder, "node_modules", ".dialcache-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  note(`installing node modules${folder === root ? "" : ` of ${relative(root, folder)}`}`);
  const args = ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  // Under `npm run` this is the very npm that was called; started by hand, the one on PATH.
  const npm = process.env.npm_execpath;
  if (npm?.endsWith(".js")) must(process.execPath, [npm, ...args], { cwd: folder });
  else must("npm", args, { cwd: folder, shell: process.platform === "win32" });
  writeFileSync(stamp, wanted);
}

function checkTools() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new SetupError(
      `Node ${process.versions.node} is too old to work on this project: install Node 20.19 or later`,
    );
  }
  if (!which(process.platform === "win32" ? "cargo.exe" : "cargo")) {
    throw new SetupError("cargo is missing: install Rust 1.88 or later from https://rustup.rs");
  }
}

const steps = {
  modules: () => ensureModules(),
  redis: ensureRedis,
  servers: ensureServers,
  addon: buildAddon,
  dist: buildDist,
};
const usual = ["modules", "redis", "addon", "dist"];

/** Runs the named steps in their order. */
export function ensure(names = usual) {
  const unknown = names.find((name) => !Object.hasOwn(steps, name));
  if (unknown) throw new SetupError(`unknown step ${unknown}: use ${Object.keys(steps).join(", ")}`);
  checkTools();
  for (const [name, step] of Object.entries(steps)) if (names.includes(name)) step();
}

if (isMain(import.meta.url)) {
  const names = process.argv.slice(2);
  await main(() => ensure(names.length > 0 ? names : undefined));
}
