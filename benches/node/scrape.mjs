// What Prometheus metrics cost: a scrape of 200 use cases, and a local hit of an instance that is scraped.
import { Registry } from "prom-client";
import { DialCache, DialCacheKeyConfig } from "../../index.mjs";
import { createPrometheusDialCacheMetrics } from "../../prometheus.mjs";
import { compare } from "./support/compare.mjs";
import { figure, ratio } from "./support/figures.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, workload } from "./support/workload.mjs";

const USE_CASES = 200;
/** Scrapes between calls of every use case, which are measured too. */
const CALLS_EACH = 50;

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

await workload("Prometheus", async (report) => {
  const { registry, cache, callAll } = await busyRegistry();
  let id = 1;
  const lines = (await registry.metrics()).split("\n").length;
  const scrapes = await compare([
    {
      name: `${USE_CASES} use cases, ${lines.toLocaleString("en-US")} lines`,
      run: async (ops) => {
        for (let op = 0; op < ops; op++) {
          if (op % CALLS_EACH === 0) {
            id += 1;
            await callAll(String(id));
          }
          await registry.metrics();
        }
      },
    },
  ]);
  const [main] = Object.values(scrapes).map(({ main }) => main);
  comparisonTable(report, "a scrape", scrapes, "µs");
  report.budget("scrape of 200 use cases, main thread", figure(main).median / 1e6, 5, "ms");
  await cache.close();

  const results = await compare([
    { name: "with Prometheus metrics", ...localCache(createPrometheusDialCacheMetrics({ registry: new Registry() })) },
    { name: "without metrics", ...localCache() },
  ]);
  comparisonTable(report, "a local hit", results);
  const to = ratio(results["with Prometheus metrics"].main, results["without metrics"].main);
  report.budget("local hit with Prometheus metrics, to one without", to.median, 1.1, "x");
});
