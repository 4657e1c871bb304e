// Loading the package, its size on disk, and the threads it has started by when.
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { addonFile } from "../../scripts/support/platform.mjs";
import { root } from "../../scripts/support/run.mjs";
import { figure } from "./support/figures.mjs";
import { usual } from "./support/quick.mjs";
import { startRedis } from "./support/redis.mjs";
import { workload } from "./support/workload.mjs";

const STARTS = usual(15, 7);
const ADDON = join(root, addonFile());
const PACKAGE = join(root, "dist", "index.js");

function child(script, ...args) {
  const { status, stdout } = spawnSync(process.execPath, ["-e", script, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error("a process that loads the package failed");
  return JSON.parse(stdout);
}

function loadMs(path) {
  return child(
    `const began = performance.now(); require(${JSON.stringify(path)}); console.log(performance.now() - began);`,
  );
}

/** Tells the names of all threads after each step of a process's life with the package. */
const THREADS = `
const { readdirSync, readFileSync } = require("node:fs");
const names = () => readdirSync("/proc/self/task").map((id) => readFileSync("/proc/self/task/" + id + "/comm", "utf8").trim());
const [path, url] = process.argv.slice(1);
const steps = [];
const step = (name) => steps.push({ name, threads: names() });
(async () => {
  step("Node alone");
  const { DialCache, DialCacheKeyConfig, RedisClient } = require(path);
  step("require()");
  const local = new DialCache({ namespace: "bench", logger: null });
  step("new DialCache()");
  const options = { keyType: "user_id", cacheKey: (id) => id };
  const get = local.cached(async (id) => ({ id }), {
    ...options, useCase: "Local", defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60 } }),
  });
  await local.enable(() => get("1"));
  await local.enable(() => get("1"));
  step("local calls");
  const client = new RedisClient({ url });
  step("new RedisClient()");
  const cache = new DialCache({ namespace: "bench", logger: null, redis: { client, readTimeoutMs: 10_000 } });
  const read = cache.cached(async (id) => ({ id, text: "compressible ".repeat(1_000) }), {
    ...options, useCase: "Redis", defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
  });
  await client.ready();
  await cache.enable(() => read("1"));
  await cache.drain();
  await cache.enable(() => read("1"));
  step("Redis calls, compressed");
  await cache.close();
  client.close();
  console.log(JSON.stringify(steps));
})();
`;

await workload("start-up and size", async (report) => {
  const paths = { "the addon": ADDON, "the package": PACKAGE };
  const names = Object.keys(paths);
  const taken = Object.fromEntries(names.map((name) => [name, []]));
  for (let start = 0; start < STARTS; start++) for (const name of names) taken[name].push(loadMs(paths[name]));
  report.table(
    "require() in a new process",
    ["", "ms"],
    names.map((name) => [name, figure(taken[name])]),
  );
  const megabytes = statSync(ADDON).size / (1 << 20);
  report.table("on disk", ["", "MB"], [["the addon", megabytes]]);
  report.measure("addon-load", figure(taken["the addon"]));
  report.measure("addon-size", megabytes);
  if (!existsSync("/proc/self/task")) {
    report.note("Threads are counted on Linux only.");
    return;
  }
  const server = await startRedis();
  const steps = child(THREADS, PACKAGE, server.url);
  const ours = ({ threads }) => threads.filter((name) => name.startsWith("dialcache"));
  report.table(
    "threads of the process after each step",
    ["", "all", "the package's", "their names"],
    steps.map((step) => [step.name, step.threads.length, ours(step).length, ours(step).join(", ") || "-"]),
  );
  // A thread without a name of ours would show as one more than Node has by itself.
  const early = steps.filter(({ name }) => ["require()", "new DialCache()", "local calls"].includes(name));
  report.measure("threads-early", Math.max(...early.map(({ threads }) => threads.length)) - steps[0].threads.length);
  if (ours(steps.at(-1)).length === 0) throw new Error("no thread of the package was found where there must be one");
});
