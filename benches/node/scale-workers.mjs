// The same reads in more and more worker threads: each has an engine and an I/O thread of its own, and nothing is shared but Redis.
import { once } from "node:events";
import { cpus } from "node:os";
import { Worker } from "node:worker_threads";
import { exponent, figure } from "./support/figures.mjs";
import { filled, PLAIN, plainKey } from "./support/filled.mjs";
import { startRedis } from "./support/redis.mjs";
import { record } from "./support/values.mjs";
import { workload } from "./support/workload.mjs";

const COUNTS = [1, 2, 4, 8];
const KEYS = 500;
const BYTES = 1_024;
const WIDTH = 64;
const ROUNDS = 5;
const WARM_UPS = 2;
/** Calls of all workers together in a round, whose time no scheduler's tick matters to. */
const KINDS = {
  "dialcache-native, Redis hit": { kind: "redis", calls: 24_000 },
  [PLAIN]: { kind: "plain", calls: 24_000 },
  "dialcache-native, local hit": { kind: "local", calls: 800_000 },
};

async function run(workers, kind, calls) {
  const ops = Math.ceil(calls / workers.length);
  const before = process.cpuUsage();
  const began = performance.now();
  await Promise.all(
    workers.map((worker) => {
      worker.postMessage({ kind, ops });
      return once(worker, "message");
    }),
  );
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(before);
  const total = ops * workers.length;
  return { rate: (total / ms) * 1_000, cpu: (user + system) / total };
}

await workload("worker threads", async (report) => {
  const server = await startRedis();
  const { ids, close } = await filled(server, KEYS, BYTES);
  const workerData = { url: server.url, ids, keyOf: plainKey(""), value: record(BYTES), width: WIDTH };
  const script = new URL("./support/reader-worker.mjs", import.meta.url);
  const rssBefore = process.memoryUsage.rss();
  const workers = [];
  for (let count = 0; count < COUNTS.at(-1); count++) {
    const worker = new Worker(script, { workerData });
    await once(worker, "message");
    workers.push(worker);
  }
  const rssEach = (process.memoryUsage.rss() - rssBefore) / workers.length / (1 << 20);
  const names = Object.keys(KINDS);
  const found = Object.fromEntries(names.map((name) => [name, COUNTS.map(() => ({ rate: [], cpu: [] }))]));
  // Each thread compiles its own code.
  for (let warmUp = 0; warmUp < WARM_UPS; warmUp++) {
    for (const { kind, calls } of Object.values(KINDS)) await run(workers, kind, calls * 2);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, count] of COUNTS.entries()) {
      for (const name of names) {
        const { rate, cpu } = await run(workers.slice(0, count), KINDS[name].kind, KINDS[name].calls);
        found[name][at].rate.push(rate);
        found[name][at].cpu.push(cpu);
      }
    }
  }
  for (const [what, unit] of [
    ["cpu", "CPU of the process, µs a call"],
    ["rate", "calls a second, all threads together"],
  ]) {
    report.table(
      unit,
      ["worker threads", ...names],
      COUNTS.map((count, at) => [String(count), ...names.map((name) => figure(found[name][at][what]))]),
    );
    report.plot({
      name: `scale-workers-${what}`,
      kind: "lines",
      title: `Worker threads: ${unit}`,
      x: { title: "worker threads", base: 2 },
      y: { title: unit },
      series: names.map((name) => ({
        name,
        points: COUNTS.map((count, at) => ({ x: count, ...figure(found[name][at][what]) })),
      })),
    });
  }
  report.note(
    `${cpus().length} cores, which Redis runs on, too. A worker with all its clients takes ${rssEach.toFixed(1)} MB.`,
  );
  report.measure("scale-workers", exponent(COUNTS.map((n, at) => ({ n, values: found[names[0]][at].cpu }))));
  for (const worker of workers) {
    worker.postMessage({ kind: "close" });
    await once(worker, "exit");
  }
  await close();
});
