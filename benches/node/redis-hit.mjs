// Hits in Redis, 16 and 128 in flight: CPU time of the main thread per call, and throughput.
import { compare } from "./support/compare.mjs";
import { ratio } from "./support/figures.mjs";
import { filled } from "./support/filled.mjs";
import { inFlight } from "./support/in-flight.mjs";
import { startRedis } from "./support/redis.mjs";
import { comparisonTable, workload } from "./support/workload.mjs";

// More than are ever in flight: no two calls share a key, or the caches would read once for both.
const KEYS = 1_000;
const BYTES = 1_024;

await workload("Redis hit, 1 KB of JSON, parsed", async (report) => {
  const server = await startRedis();
  const clients = await filled(server, KEYS, BYTES);
  const { ids, dialcache } = clients;
  for (const width of [16, 128]) {
    const results = await compare(
      [
        {
          name: "dialcache-native",
          run: (ops) => dialcache.cache.enable(() => inFlight(width, ops, (op) => dialcache.get(ids[op % KEYS]))),
        },
        {
          name: "node-redis GET + JSON.parse",
          run: (ops) => inFlight(width, ops, (op) => clients.plain(ids[op % KEYS])),
        },
        { name: "async-cache-dedupe", run: (ops) => inFlight(width, ops, (op) => clients.dedupe(ids[op % KEYS])) },
        { name: "bentocache", run: (ops) => inFlight(width, ops, (op) => clients.bento(ids[op % KEYS])) },
      ],
      { rounds: 7, roundMs: 250 },
    );
    comparisonTable(report, `${width} in flight`, results, "µs");
    const { "dialcache-native": ours, "node-redis GET + JSON.parse": plain, bentocache: bento } = results;
    const cpu = (what, other, budget) =>
      report.budget(
        `Redis hit, ${width} in flight, main-thread CPU to ${what}`,
        ratio(ours.main, other.main).median,
        budget,
        "x",
      );
    cpu("node-redis GET + JSON.parse", plain, 1.05);
    cpu("bentocache", bento, 0.65);
    if (width !== 128) continue;
    const faster = ratio(bento.wall, ours.wall).median;
    report.budget("Redis hit, 128 in flight, throughput to bentocache", faster, 2, "x", { atLeast: true });
  }
  await clients.close();
});
