// The runtimes, bundlers and package managers that the packed package is used with, locked in __test__/package/tools.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMain, main, must, note, root } from "./run.mjs";

/** `target` outlives `npm ci`, and what is in it is a gigabyte. */
export const consumerTools = join(root, "target", "consumers");

const locked = ["package.json", "package-lock.json"];

/** Installs them when the lock file has changed. */
export function ensureConsumers() {
  const source = join(root, "__test__", "package", "tools");
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}`);
  for (const file of locked) hash.update(readFileSync(join(source, file)));
  const wanted = hash.digest("hex");
  const stamp = join(consumerTools, "node_modules", ".dialcache-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  note("fetching the runtimes and bundlers that the package is tested with");
  mkdirSync(consumerTools, { recursive: true });
  for (const file of locked) copyFileSync(join(source, file), join(consumerTools, file));
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  must("npm", ["ci", ...flags], { cwd: consumerTools, shell: process.platform === "win32" });
  writeFileSync(stamp, wanted);
}

if (isMain(import.meta.url)) await main(ensureConsumers);
