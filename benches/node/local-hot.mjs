// A local hit of one hot key inside enable(): the price of the full contract (context, TTL, ramp, counters).
import { bentoLocal, dedupeLocal, dialcacheLocal, LRUCache } from "./support/caches.mjs";
import { compare } from "./support/compare.mjs";
import { ratio } from "./support/figures.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, scaledBudget, workload } from "./support/workload.mjs";

const KEY = "user:123";
const VALUE = record(500);
const load = async () => VALUE;

await workload("local hit, one hot key", async (report) => {
  const { cache, get } = dialcacheLocal(load);
  const dedupe = dedupeLocal(load);
  const bento = bentoLocal();
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
      name: "bentocache",
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await bento.getOrSet({ key: KEY, factory: load });
      },
    },
    {
      name: "bentocache, not serialized",
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
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await settled;
      },
    },
  ]);
  comparisonTable(report, "one awaited call", results);
  const ours = results["dialcache-native"].main;
  scaledBudget(report, "local hit, hot key", ours, results["lru-cache in an async function"].main, 250);
  report.budget(
    "local hit, hot key, to async-cache-dedupe",
    ratio(ours, results["async-cache-dedupe"].main).median,
    0.75,
    "x",
  );
  await cache.close();
  await bento.disconnectAll();
  await bentoLive.disconnectAll();
});
