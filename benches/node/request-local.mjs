// A hit of the request-local layer: a value its enable() scope has already seen.
import { dialcacheLocal, LRUCache } from "./support/caches.mjs";
import { compare } from "./support/compare.mjs";
import { ratio } from "./support/figures.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, scaledMeasure, workload } from "./support/workload.mjs";

const KEY = "user:123";
const VALUE = record(500);
const load = async () => VALUE;

await workload("request-local hit", async (report) => {
  const { cache, get } = dialcacheLocal(load, { policy: { requestLocal: true } });
  const lru = new LRUCache({ max: 10_000 });
  lru.set(KEY, VALUE);
  const fromLru = async (key) => lru.get(key);

  const results = await compare([
    {
      name: "dialcache-native",
      run: (ops) =>
        cache.enable(async () => {
          for (let op = 0; op < ops; op++) await get(KEY);
        }),
    },
    {
      name: "lru-cache in an async function",
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await fromLru(KEY);
      },
    },
  ]);
  comparisonTable(report, "request-local hit", results);
  const ours = results["dialcache-native"].main;
  const plain = results["lru-cache in an async function"].main;
  scaledMeasure(report, "request-local", ours, plain);
  report.measure("request-local/lru-cache", ratio(ours, plain));
  await cache.close();
});
