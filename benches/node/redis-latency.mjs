// Hits in Redis, one at a time: what the hop to the I/O thread and back adds to a round trip on loopback.

import { figure, quantile, ratio } from "./support/figures.mjs";
import { BARE_NAMES, CACHE_NAMES, filled, PLAIN } from "./support/filled.mjs";
import { isQuick, usual } from "./support/quick.mjs";
import { startRedis } from "./support/redis.mjs";
import { workload } from "./support/workload.mjs";

const KEYS = 100;
const BYTES = 1_024;
const CALLS = 400;
const ROUNDS = usual(15, 5);
const WARM_UPS = 3;

async function latencies(ids, get) {
  const taken = new Float64Array(CALLS);
  for (let call = 0; call < CALLS; call++) {
    const id = ids[call % ids.length];
    const began = performance.now();
    await get(id);
    taken[call] = (performance.now() - began) * 1_000;
  }
  return taken;
}

await workload("Redis hit, one at a time", async (report) => {
  const server = await startRedis();
  const others = isQuick ? [] : [...CACHE_NAMES, ...BARE_NAMES];
  const { ids, dialcache, readers, close } = await filled(server, KEYS, BYTES, { others });
  const contenders = {
    "dialcache-native": () => dialcache.cache.enable(() => latencies(ids, dialcache.get)),
    ...Object.fromEntries(Object.entries(readers).map(([name, read]) => [name, () => latencies(ids, read)])),
  };
  const names = Object.keys(contenders);
  const rounds = Object.fromEntries(names.map((name) => [name, { p50: [], p99: [] }]));
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    for (const name of names) {
      const taken = await contenders[name]();
      if (round < 0) continue;
      rounds[name].p50.push(quantile(taken, 0.5));
      rounds[name].p99.push(quantile(taken, 0.99));
    }
  }
  const [ours] = names;
  report.table(
    "µs a call",
    ["", "p50", "p99", "p50, ours to it"],
    names.map((name) => [
      name,
      figure(rounds[name].p50),
      figure(rounds[name].p99),
      ratio(rounds[ours].p50, rounds[name].p50),
    ]),
  );
  report.plot({
    name: "redis-latency",
    kind: "contenders",
    title: "Redis hit, one at a time",
    x: { title: "p50, µs a call" },
    points: names.map((name) => ({ name, ...figure(rounds[name].p50) })),
  });
  report.note(
    "The read is made on another thread: two hops of some microseconds each, which only a call that is alone waits for.",
  );
  report.measure("redis-latency/node-redis-5", ratio(rounds[ours].p50, rounds[PLAIN].p50));
  await close();
});
