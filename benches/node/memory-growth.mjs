// Whether memory grows with what was done: ten million operations, and an index that is full all the time.
import { setTimeout as sleep } from "node:timers/promises";
import { DialCache, DialCacheKeyConfig, RedisClient } from "../../index.mjs";
import { figure } from "./support/figures.mjs";
import { inFlight } from "./support/in-flight.mjs";
import { startRedis } from "./support/redis.mjs";
import { record } from "./support/values.mjs";
import { workload } from "./support/workload.mjs";

const OPERATIONS = 10_000_000;
const STEP = 500_000;
/** By then everything has its size. */
const GROWN_BY = 2_000_000;
const WIDTH = 64;
const CAP = 10_000;
const HOT = 5_000;
/** One in so many calls is of a key that is rarely asked for. */
const RARE_IN = 20;
const RARE = 100_000;
const CHURN = 1_000_000;
const LOOKS = 10_000;
const STRIDE = 7_919;

function cached(cache, value, ttlSec) {
  return cache.cached(async () => value, {
    keyType: "user_id",
    useCase: "GetUser",
    cacheKey: (id) => id,
    defaultConfig: new DialCacheKeyConfig({ ttlSec }),
  });
}

async function megabytes() {
  globalThis.gc();
  await sleep(20);
  globalThis.gc();
  return process.memoryUsage.rss() / (1 << 20);
}

/** RSS after each step of a mix of local hits, Redis hits, misses and writes. */
async function growth() {
  const server = await startRedis();
  const client = new RedisClient({ url: server.url });
  await client.ready({ timeoutMs: 5_000 });
  const cache = new DialCache({
    namespace: "bench",
    localMaxSize: CAP,
    logger: null,
    redis: { client, readTimeoutMs: 10_000 },
  });
  const get = cached(cache, record(200), { local: 600, remote: 600 });
  const id = (op) => (op % RARE_IN === 0 ? `rare:${(op / RARE_IN) % RARE}` : `hot:${(op * STRIDE) % HOT}`);
  const points = [];
  for (let done = 0; done < OPERATIONS; done += STEP) {
    await cache.enable(() => inFlight(WIDTH, STEP, (op) => get(id(done + op))));
    await cache.drain();
    points.push({ done: done + STEP, mb: await megabytes() });
  }
  const { hits, sourceCalls } = cache.stats().useCases.GetUser;
  await cache.close();
  await client.close();
  return { points, hits, sourceCalls };
}

/** Bytes an operation: the slope of the straight line that fits best. */
function slope(points) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(({ done }) => done)), mean(points.map(({ mb }) => mb))];
  const covered = points.reduce((sum, { done, mb }) => sum + (done - x) * (mb - y), 0);
  return (covered / points.reduce((sum, { done }) => sum + (done - x) ** 2, 0)) * (1 << 20);
}

/** New keys all the time: the most entries that were seen, and what memory grew by meanwhile. */
async function churn(localPolicy) {
  const cache = new DialCache({ namespace: "bench", localMaxSize: CAP, localPolicy, logger: null });
  const get = cached(cache, record(200), { local: 600 });
  let most = 0;
  const round = (from, to) =>
    cache.enable(async () => {
      for (let key = from; key < to; key++) {
        await get(`user:${key}`);
        if (key % LOOKS === 0) most = Math.max(most, cache.stats().local.entries);
      }
    });
  await round(0, CHURN / 2);
  const before = await megabytes();
  await round(CHURN / 2, CHURN);
  most = Math.max(most, cache.stats().local.entries);
  const grown = (await megabytes()) - before;
  await cache.close();
  return { most, grown };
}

await workload("memory over time", async (report) => {
  const { points, hits, sourceCalls } = await growth();
  const late = points.filter(({ done }) => done >= GROWN_BY);
  const perOperation = slope(late);
  report.table(
    `10,000,000 operations: ${hits.local.toLocaleString("en-US")} local hits, ${hits.remote.toLocaleString("en-US")} Redis hits, ` +
      `${sourceCalls.toLocaleString("en-US")} source calls and writes`,
    ["", "MB of RSS"],
    [
      ["after the first 2 million", late[0].mb],
      ["from there on", figure(late.map(({ mb }) => mb))],
      ["at the end", late.at(-1).mb],
      ["grown by, bytes an operation", perOperation],
    ],
  );
  report.plot({
    name: "memory-growth",
    kind: "lines",
    title: "Memory over ten million operations",
    x: { title: "operations", linear: true },
    y: { title: "MB of RSS", linear: true },
    series: [
      { name: "dialcache-native", points: points.map(({ done, mb }) => ({ x: done, median: mb, min: mb, max: mb })) },
    ],
  });
  report.measure("growth", perOperation);
  const policies = ["lru", "tinyLfu"];
  const churned = [];
  for (const policy of policies) churned.push(await churn(policy));
  report.table(
    `${CHURN.toLocaleString("en-US")} keys, each once, in an index of ${CAP.toLocaleString("en-US")}`,
    ["", "most entries", "MB grown in the second half"],
    policies.map((policy, at) => [policy, churned[at].most, churned[at].grown]),
  );
  report.measure("churn-entries", Math.max(...churned.map(({ most }) => most)) / CAP);
});
