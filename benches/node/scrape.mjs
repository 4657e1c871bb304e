// What Prometheus metrics cost: a scrape of 200 use cases, and a local hit of an instance that is scraped.
import { Registry } from "prom-client";
import { DialCache, DialCacheKeyConfig } from "../../index.mjs";
import { createPrometheusDialCacheMetrics } from "../../prometheus.mjs";
import { compare } from "./support/compare.mjs";
import { stopwatch } from "./support/cpu.mjs";
import { figure, ratio } from "./support/figures.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, workload } from "./support/workload.mjs";

const USE_CASES = 200;
const ROUNDS = 9;
/** Scrapes of each kind in a round, whose mean is taken: where CPU time moves by ticks, one scrape is too short to be measured. */
const SCRAPES = 25;

/** A Redis client in memory: what counts here is that every layer has figures. */
function memoryClient() {
  const values = new Map();
  return {
    read: async ({ valueKey }) => values.get(valueKey) ?? null,
    write: async ({ valueKey, value }) => values.set(valueKey, value) !== undefined,
    invalidate: async () => {},
  };
}

/** A registry with figures of 200 use cases that used every layer, and one to go on calling. */
async function busyRegistry() {
  const registry = new Registry();
  const cache = new DialCache({
    namespace: "bench",
    logger: null,
    metrics: createPrometheusDialCacheMetrics({ registry }),
    redis: { client: memoryClient(), readTimeoutMs: 10_000 },
  });
  const gets = Array.from({ length: USE_CASES }, (_, at) =>
    cache.cached(async (id) => ({ id }), {
      keyType: "user_id",
      useCase: `UseCase${at}`,
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: at % 2 === 0 }),
    }),
  );
  const callAll = async (id) => {
    for (const get of gets) await cache.enable(() => Promise.all([get(id), get(id)]));
  };
  await callAll("1");
  await gets[0]("out of scope");
  await cache.drain();
  return { registry, cache, callAll };
}

function localCache(metrics) {
  const value = record(500);
  const cache = new DialCache({ namespace: "bench", logger: null, ...(metrics === undefined ? {} : { metrics }) });
  const get = cache.cached(async () => value, {
    keyType: "user_id",
    useCase: "GetUser",
    cacheKey: (id) => id,
    defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 600 } }),
  });
  return {
    run: (ops) =>
      cache.enable(async () => {
        for (let op = 0; op < ops; op++) await get("user:123");
      }),
  };
}

/** Nanoseconds of scrapes in turn: after calls of every use case, so that each number is another, and with none between. */
async function scrapes({ registry, cache, callAll }) {
  const results = { "every number is new": used(), "none is": used() };
  // The first round is not measured: V8 optimizes in it.
  for (let round = 0; round <= ROUNDS; round++) {
    const sums = Object.keys(results).map(() => ({ wall: 0, main: 0, other: 0 }));
    for (let scrape = 0; scrape < SCRAPES; scrape++) {
      await callAll(`${round}-${scrape}`);
      await cache.drain();
      for (const sum of sums) {
        const elapsed = stopwatch();
        await registry.metrics();
        for (const [kind, spent] of Object.entries(elapsed())) sum[kind] += spent;
      }
    }
    if (round === 0) continue;
    for (const [at, result] of Object.values(results).entries()) {
      for (const [kind, sum] of Object.entries(sums[at])) result[kind].push(sum / SCRAPES);
    }
  }
  return results;
}

function used() {
  return { wall: [], main: [], other: [] };
}

await workload("Prometheus", async (report) => {
  const busy = await busyRegistry();
  const lines = (await busy.registry.metrics()).split("\n").length.toLocaleString("en-US");
  const results = await scrapes(busy);
  comparisonTable(report, `a scrape of ${USE_CASES} use cases, ${lines} lines`, results, "µs");
  report.measure("scrape", figure(results["every number is new"].main.map((ns) => ns / 1e6)));
  await busy.cache.close();

  const hits = await compare([
    { name: "with Prometheus metrics", ...localCache(createPrometheusDialCacheMetrics({ registry: new Registry() })) },
    { name: "without metrics", ...localCache() },
  ]);
  comparisonTable(report, "a local hit", hits);
  const to = ratio(hits["with Prometheus metrics"].main, hits["without metrics"].main);
  report.measure("scraped-hit", to);
});
