// A miss in Redis: the source runs and its value is written back, 128 in flight.
import {
  bentoRedis,
  cacheableRedis,
  dedupeRedis,
  dialcacheRedis,
  ioredis,
  managedRedis,
  nodeRedis,
} from "./support/caches.mjs";
import { compare } from "./support/compare.mjs";
import { ratio } from "./support/figures.mjs";
import { inFlight } from "./support/in-flight.mjs";
import { startRedis } from "./support/redis.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, workload } from "./support/workload.mjs";

/** What there is without a cache package. */
const PLAIN = "cache-aside over node-redis 5";
const WIDTH = 128;
const VALUE = record(1_024);
const TTL = { expiration: { type: "PX", value: 600_000 } };
const load = async () => VALUE;

let lastKey = 0;
const key = () => `user:${lastKey++}`;

await workload("Redis miss, source, write back; 1 KB of JSON, 128 in flight", async (report) => {
  const server = await startRedis();
  const connections = [ioredis(server.port), ioredis(server.port)];
  const plain = await nodeRedis(server.url);
  const dialcache = await dialcacheRedis(load, { url: server.url });
  const dedupe = dedupeRedis(load, connections[0]);
  const bento = bentoRedis(connections[1]);
  const managed = managedRedis(server.url);
  const cacheable = cacheableRedis(server.url);
  const cacheAside = async (id) => {
    const found = await plain.get(id);
    if (found !== null) return JSON.parse(found);
    const value = await load(id);
    plain.set(id, JSON.stringify(value), TTL).catch(() => {});
    return value;
  };
  const results = await compare([
    {
      name: "dialcache-native",
      run: (ops) =>
        dialcache.cache.enable(async () => {
          await inFlight(WIDTH, ops, () => dialcache.get(key()));
          await dialcache.cache.drain();
        }),
    },
    { name: PLAIN, run: (ops) => inFlight(WIDTH, ops, () => cacheAside(key())) },
    {
      name: "async-cache-dedupe",
      extra: true,
      run: (ops) => inFlight(WIDTH, ops, () => dedupe.user(key())),
    },
    {
      name: "bentocache",
      extra: true,
      run: (ops) => inFlight(WIDTH, ops, () => bento.getOrSet({ key: key(), factory: load })),
    },
    { name: "cache-manager", extra: true, run: (ops) => inFlight(WIDTH, ops, () => managed.wrap(key(), load)) },
    { name: "cacheable", extra: true, run: (ops) => inFlight(WIDTH, ops, () => cacheable.getOrSet(key(), load)) },
  ]);
  comparisonTable(report, "Redis miss, source, write back, 128 in flight", results, "µs", "miss");
  report.measure("miss/node-redis-5", ratio(results["dialcache-native"].main, results[PLAIN].main));
  await dialcache.close();
  await bento.disconnectAll();
  await managed.disconnect();
  await cacheable.disconnect();
  connections[0].disconnect();
  plain.destroy();
});
