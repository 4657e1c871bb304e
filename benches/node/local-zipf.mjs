// Local hits over many keys, popular ones more often, with the key's text built in each call.
import { seeded, zipf } from "../../scripts/demo/random.mjs";
import { bentoLocal, cacheableLocal, dedupeLocal, dialcacheLocal, LRUCache, managedLocal } from "./support/caches.mjs";
import { compare } from "./support/compare.mjs";
import { ratio } from "./support/figures.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, workload } from "./support/workload.mjs";

const USERS = 5_000;
const EXPONENT = 1;
const DRAWS = 1 << 16;
const VALUES = Array.from({ length: USERS }, (_, user) => record(500, user));

const rank = zipf(USERS, EXPONENT, seeded(1));
const drawn = Uint32Array.from({ length: DRAWS }, rank);
const everyone = Array.from({ length: USERS }, (_, user) => user);

await workload("local hit, Zipf over 5,000 keys, key built per call", async (report) => {
  const load = async (user) => VALUES[user];
  const { cache, get } = dialcacheLocal(load, { cacheKey: (user) => `user:${user}` });
  await cache.enable(() => Promise.all(everyone.map((user) => get(user))));
  const dedupe = dedupeLocal(load, (user) => `user:${user}`);
  await Promise.all(everyone.map((user) => dedupe.user(user)));
  const bento = bentoLocal({ serialize: false });
  const fromBento = (user) => bento.getOrSet({ key: `user:${user}`, factory: () => load(user) });
  await Promise.all(everyone.map(fromBento));
  const managed = managedLocal();
  const fromManaged = (user) => managed.wrap(`user:${user}`, () => load(user));
  await Promise.all(everyone.map(fromManaged));
  const cacheable = cacheableLocal();
  const fromCacheable = (user) => cacheable.getOrSet(`user:${user}`, () => load(user));
  await Promise.all(everyone.map(fromCacheable));
  const lru = new LRUCache({ max: 10_000 });
  for (const user of everyone) lru.set(`user:${user}`, VALUES[user]);
  const fromLru = async (user) => lru.get(`user:${user}`);

  const results = await compare([
    {
      name: "dialcache-native",
      run: (ops) =>
        cache.enable(async () => {
          for (let op = 0; op < ops; op++) await get(drawn[op & (DRAWS - 1)]);
        }),
    },
    {
      name: "async-cache-dedupe",
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await dedupe.user(drawn[op & (DRAWS - 1)]);
      },
    },
    {
      name: "cache-manager",
      extra: true,
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await fromManaged(drawn[op & (DRAWS - 1)]);
      },
    },
    {
      name: "cacheable",
      extra: true,
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await fromCacheable(drawn[op & (DRAWS - 1)]);
      },
    },
    {
      name: "bentocache, not serialized",
      extra: true,
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await fromBento(drawn[op & (DRAWS - 1)]);
      },
    },
    {
      name: "lru-cache in an async function",
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await fromLru(drawn[op & (DRAWS - 1)]);
      },
    },
  ]);
  comparisonTable(report, "local hit, Zipf over 5,000 keys", results, "ns", "local-zipf");
  const ours = results["dialcache-native"].main;
  report.measure("local-zipf/async-cache-dedupe", ratio(ours, results["async-cache-dedupe"].main));
  report.measure("local-zipf/lru-cache", ratio(ours, results["lru-cache in an async function"].main));
  await cache.close();
  await managed.disconnect();
  await cacheable.disconnect();
  await bento.disconnectAll();
});
