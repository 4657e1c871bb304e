// Local hits in turn over more and more use cases, and what it takes to register one.
import { DialCache, DialCacheKeyConfig } from "../../index.mjs";
import { LRUCache } from "./support/caches.mjs";
import { stopwatch } from "./support/cpu.mjs";
import { exponent, figure } from "./support/figures.mjs";
import { usual } from "./support/quick.mjs";
import { record } from "./support/values.mjs";
import { workload } from "./support/workload.mjs";

const COUNTS = [1, 10, 100, 1_000];
const CALLS = 100_000;
const ROUNDS = usual(7, 3);
const WARM_UPS = 2;
const KEY = "user:123";
const VALUE = record(500);
const config = () => new DialCacheKeyConfig({ ttlSec: { local: 600 } });

function ours(count) {
  const cache = new DialCache({ namespace: "bench", logger: null });
  const elapsed = stopwatch();
  const gets = Array.from({ length: count }, (_, at) =>
    cache.cached(async () => VALUE, {
      keyType: "user_id",
      useCase: `UseCase${at}`,
      cacheKey: (id) => id,
      defaultConfig: config(),
    }),
  );
  const registered = elapsed().main / count / 1_000;
  const run = (ops) =>
    cache.enable(async () => {
      for (let op = 0; op < ops; op++) await gets[op % count](KEY);
    });
  return { run, registered, close: () => cache.close() };
}

/** As many functions, each with an lru-cache of its own: what many closures cost anyhow. */
function plain(count) {
  const gets = Array.from({ length: count }, () => {
    const lru = new LRUCache({ max: 10 });
    lru.set(KEY, VALUE);
    return async (id) => lru.get(id);
  });
  const run = async (ops) => {
    for (let op = 0; op < ops; op++) await gets[op % count](KEY);
  };
  return { run, close: () => {} };
}

await workload("use cases", async (report) => {
  const kinds = { "dialcache-native": ours, "lru-cache, one each": plain };
  const names = Object.keys(kinds);
  const made = Object.fromEntries(names.map((name) => [name, COUNTS.map((count) => kinds[name](count))]));
  const found = Object.fromEntries(names.map((name) => [name, COUNTS.map(() => [])]));
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    for (const at of COUNTS.keys()) {
      for (const name of names) {
        const elapsed = stopwatch();
        await made[name][at].run(CALLS);
        const { main } = elapsed();
        if (round >= 0) found[name][at].push(main / CALLS);
      }
    }
  }
  report.table(
    "local hits in turn over all use cases: main thread, ns a call",
    ["use cases", ...names, "registering one, µs"],
    COUNTS.map((count, at) => [
      count.toLocaleString("en-US"),
      ...names.map((name) => figure(found[name][at])),
      made["dialcache-native"][at].registered,
    ]),
  );
  report.plot({
    name: "scale-use-cases",
    kind: "lines",
    title: "A local hit among many use cases",
    x: { title: "use cases" },
    y: { title: "main thread, ns a call" },
    series: names.map((name) => ({
      name,
      points: COUNTS.map((count, at) => ({ x: count, ...figure(found[name][at]) })),
    })),
  });
  report.measure("scale-use-cases", exponent(COUNTS.map((n, at) => ({ n, values: found["dialcache-native"][at] }))));
  for (const all of Object.values(made)) for (const one of all) await one.close();
});
