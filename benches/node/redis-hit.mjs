// Hits in Redis, 16 and 128 in flight: CPU time of the main thread per call, and throughput.
import { compare } from "./support/compare.mjs";
import { ratio } from "./support/figures.mjs";
import { BARE_NAMES, CACHE_NAMES, filled, PLAIN } from "./support/filled.mjs";
import { inFlight } from "./support/in-flight.mjs";
import { isQuick } from "./support/quick.mjs";
import { startRedis } from "./support/redis.mjs";
import { comparisonTable, workload } from "./support/workload.mjs";

// More than are ever in flight: no two calls share a key, or the caches would read once for both.
const KEYS = 1_000;
const BYTES = 1_024;

await workload("Redis hit, 1 KB of JSON, parsed", async (report) => {
  const server = await startRedis();
  const others = isQuick ? ["bentocache"] : [...CACHE_NAMES, ...BARE_NAMES];
  const { ids, dialcache, readers, close } = await filled(server, KEYS, BYTES, { others });
  for (const width of [16, 128]) {
    const results = await compare(
      [
        {
          name: "dialcache-native",
          run: (ops) => dialcache.cache.enable(() => inFlight(width, ops, (op) => dialcache.get(ids[op % KEYS]))),
        },
        ...Object.entries(readers).map(([name, read]) => ({
          name,
          run: (ops) => inFlight(width, ops, (op) => read(ids[op % KEYS])),
        })),
      ],
      { rounds: 7, roundMs: 200 },
    );
    comparisonTable(report, `Redis hit, 1 KB of JSON, ${width} in flight`, results, "µs", `redis-hit-${width}`);
    const { "dialcache-native": ours, [PLAIN]: plain, bentocache } = results;
    report.measure(`redis-hit-${width}/node-redis-5`, ratio(ours.main, plain.main));
    report.measure(`redis-hit-${width}/bentocache`, ratio(ours.main, bentocache.main));
    if (width !== 128) continue;
    report.measure("redis-throughput/bentocache", ratio(bentocache.wall, ours.wall));
    report.measure("redis-throughput/node-redis-5", ratio(plain.wall, ours.wall));
  }
  await close();
});
