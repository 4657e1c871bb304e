// Read deadlines that are armed where none is needed: by followers, local hits, and calls that the ramp leaves out of Redis.
import { DialCache, DialCacheKeyConfig, RedisClient } from "../../index.mjs";
import { startRedis } from "./support/redis.mjs";
import { workload } from "./support/workload.mjs";

const CALLS = 10_000;
const POLICIES = {
  leaders: { ttlSec: { remote: 600 } },
  followers: { ttlSec: { remote: 600 } },
  "local hits": { ttlSec: { local: 600, remote: 600 } },
  "ramped-out calls": { ttlSec: { remote: 600 }, ramp: { remote: 0 } },
};

await workload("read deadlines that are armed", async (report) => {
  const server = await startRedis();
  const client = new RedisClient({ url: server.url, maxPending: 2 * CALLS });
  await client.ready({ timeoutMs: 5_000 });
  const cache = new DialCache({ namespace: "bench", logger: null, redis: { client, readTimeoutMs: 10_000 } });
  const kinds = Object.keys(POLICIES);
  const gets = kinds.map((useCase) =>
    cache.cached(async (id) => ({ id }), {
      keyType: "user_id",
      useCase,
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig(POLICIES[useCase]),
    }),
  );
  const numbers = Array.from({ length: CALLS }, (_, number) => String(number));
  const [leader, follower, hit, out] = gets;
  await cache.enable(async () => {
    await Promise.all(numbers.map((id) => leader(id)));
    await Promise.all(numbers.map(() => follower("one")));
    await hit("one");
    for (const _ of numbers) await hit("one");
    await Promise.all(numbers.map((id) => out(id)));
  });
  const armed = Object.fromEntries(kinds.map((kind) => [kind, cache.stats().useCases[kind].readDeadlinesArmed]));
  // One call of each of these two has to read: the first.
  armed.followers -= 1;
  armed["local hits"] -= 1;
  if (armed.leaders !== CALLS) throw new Error(`${armed.leaders} of ${CALLS} leaders armed a deadline`);
  report.table(
    `of ${CALLS.toLocaleString("en-US")} calls`,
    ["", "armed"],
    kinds.map((kind) => [kind, armed[kind]]),
  );
  report.measure("deadlines-armed", armed.followers + armed["local hits"] + armed["ramped-out calls"]);
  await cache.drain();
  await cache.close();
  await client.close();
});
