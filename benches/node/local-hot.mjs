// A local hit of one hot key inside enable(): the price of the full contract (context, TTL, ramp, counters).
import { bentoLocal, cacheableLocal, dedupeLocal, dialcacheLocal, LRUCache, managedLocal } from "./support/caches.mjs";
import { compare } from "./support/compare.mjs";
import { ratio } from "./support/figures.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, scaledMeasure, workload } from "./support/workload.mjs";

const KEY = "user:123";
const VALUE = record(500);
const load = async () => VALUE;

await workload("local hit, one hot key", async (report) => {
  const { cache, get } = dialcacheLocal(load);
  const dedupe = dedupeLocal(load);
  const bento = bentoLocal();
  const managed = managedLocal();
  const cacheable = cacheableLocal();
  const bentoLive = bentoLocal({ serialize: false });
  const lru = new LRUCache({ max: 10_000 });
  lru.set(KEY, VALUE);
  const fromLru = async (key) => lru.get(key);
  const settled = Promise.resolve(VALUE);

  const results = await compare([
    {
      name: "dialcache-native",
      run: (ops) =>
        cache.enable(async () => {
          for (let op = 0; op < ops; op++) await get(KEY);
        }),
    },
    {
      name: "async-cache-dedupe",
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await dedupe.user(KEY);
      },
    },
    {
      name: "cache-manager",
      extra: true,
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await managed.wrap(KEY, load);
      },
    },
    {
      name: "cacheable",
      extra: true,
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await cacheable.getOrSet(KEY, load);
      },
    },
    {
      name: "bentocache",
      extra: true,
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await bento.getOrSet({ key: KEY, factory: load });
      },
    },
    {
      name: "bentocache, not serialized",
      extra: true,
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await bentoLive.getOrSet({ key: KEY, factory: load });
      },
    },
    {
      name: "lru-cache in an async function",
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await fromLru(KEY);
      },
    },
    {
      name: "awaiting a settled promise",
      extra: true,
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await settled;
      },
    },
  ]);
  comparisonTable(report, "local hit, one hot key", results, "ns", "local-hot");
  const ours = results["dialcache-native"].main;
  const plain = results["lru-cache in an async function"].main;
  scaledMeasure(report, "local-hot", ours, plain);
  report.measure("local-hot/lru-cache", ratio(ours, plain));
  report.measure("local-hot/async-cache-dedupe", ratio(ours, results["async-cache-dedupe"].main));
  await cache.close();
  await managed.disconnect();
  await cacheable.disconnect();
  await bento.disconnectAll();
  await bentoLive.disconnectAll();
});
