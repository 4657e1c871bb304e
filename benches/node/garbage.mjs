// Bytes of garbage per local hit. Needs a young generation in which a whole round fits, so it starts itself again with one.
import { spawnSync } from "node:child_process";
import { PerformanceObserver } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { dedupeLocal, dialcacheLocal, LRUCache } from "./support/caches.mjs";
import { figure } from "./support/figures.mjs";
import { usual } from "./support/quick.mjs";
import { record } from "./support/values.mjs";
import { workload } from "./support/workload.mjs";

const FLAGS = ["--expose-gc", "--min-semi-space-size=64", "--max-semi-space-size=64"];
const CALLS = 5_000;
const ROUNDS = usual(9, 5);
const WARM_UPS = 20;
const KEY = "user:123";
const VALUE = record(500);
const load = async () => VALUE;

async function measure() {
  let began = 0;
  let collected = false;
  const observer = new PerformanceObserver((list) => {
    collected ||= list.getEntries().some((entry) => entry.startTime >= began);
  });
  observer.observe({ entryTypes: ["gc"] });
  const { cache, get } = dialcacheLocal(load);
  const dedupe = dedupeLocal(load);
  const lru = new LRUCache({ max: 10_000 });
  lru.set(KEY, VALUE);
  const fromLru = async (key) => lru.get(key);
  const contenders = {
    "dialcache-native": () =>
      cache.enable(async () => {
        for (let call = 0; call < CALLS; call++) await get(KEY);
      }),
    "async-cache-dedupe": async () => {
      for (let call = 0; call < CALLS; call++) await dedupe.user(KEY);
    },
    "lru-cache in an async function": async () => {
      for (let call = 0; call < CALLS; call++) await fromLru(KEY);
    },
  };
  const bytes = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(contenders)) {
      globalThis.gc();
      await nextTurn();
      collected = false;
      began = performance.now();
      const before = process.memoryUsage().heapUsed;
      await run();
      const used = process.memoryUsage().heapUsed - before;
      await nextTurn();
      // A collection in between would hide what was collected.
      if (round >= 0 && !collected) bytes[name].push(used / CALLS);
    }
  }
  observer.disconnect();
  await cache.close();
  return bytes;
}

if (!process.execArgv.includes(FLAGS[1])) {
  const { status } = spawnSync(process.execPath, [...FLAGS, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
} else {
  await workload("garbage of a local hit", async (report) => {
    const bytes = await measure();
    const names = Object.keys(bytes);
    report.table(
      "one awaited call",
      ["", "bytes"],
      names.map((name) => [name, figure(bytes[name])]),
    );
    report.measure("garbage", figure(bytes[names[0]]));
  });
}
