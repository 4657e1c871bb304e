// What figures were measured with: the machine, and the versions of everything.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { ensureRedis } from "../support/redis.mjs";
import { root } from "../support/run.mjs";
import { folder } from "./workloads.mjs";

/** Processor, cores and memory; nothing that names the machine. */
export function machine() {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
  };
}

function manifest(path) {
  return JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
}

function said(command, args, pattern) {
  const { stdout } = spawnSync(command, args, { encoding: "utf8" });
  return pattern.exec(stdout ?? "")?.[1] ?? "unknown";
}

/** Versions by name: this package, what it was compared with, the server and the compiler. */
export function versions() {
  const packages = Object.keys(manifest(folder).devDependencies).map((name) => [
    name,
    manifest(join(folder, "node_modules", name)).version,
  ]);
  return {
    "dialcache-native": manifest(root).version,
    ...Object.fromEntries(packages),
    Redis: said(ensureRedis(), ["--version"], /v=(\S+)/),
    rustc: said("rustc", ["--version"], /^rustc (\S+)/),
  };
}
