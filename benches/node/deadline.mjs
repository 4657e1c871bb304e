// The read deadline when Redis is frozen, and when the event loop is.
//
// 1. 1,000 calls with distinct keys against a server that was stopped (SIGSTOP), with a deadline of 50 ms: how much later than that does each
//    call's source start? The sources answer later, as sources do: nothing but the package stands in the way of the next one.
// 2. 1,000 reads go out to a server that answers at once; then the event loop is blocked for three times the deadline. The replies were there
//    in time, so none of these reads may count as timed out.
//
// For contrast both run through the same package with a client in JavaScript (node-redis), whose deadlines are timers of the event loop.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { dialcacheRedis, nodeRedis } from "./support/caches.mjs";
import { stopwatch } from "./support/cpu.mjs";
import { figure, quantile } from "./support/figures.mjs";
import { usual } from "./support/quick.mjs";
import { startRedis } from "./support/redis.mjs";
import { workload } from "./support/workload.mjs";

const KEYS = 1_000;
const DEADLINE_MS = 50;
const BLOCKED_MS = 3 * DEADLINE_MS;
const FROZEN_ROUNDS = usual(9, 5);
/** Until V8 has optimized what runs only when Redis is in trouble. */
const WARM_UPS = 8;
const BLOCKED_ROUNDS = usual(5, 2);
const SETTLE_MS = 50;
/** When the sources of a round answer, counted from its first call. */
const ANSWER_MS = 3 * DEADLINE_MS;
const VALUE = { name: "a user", active: true };

/** A caller's own client as simple as it gets. Its frames need no envelope: the values are small texts. */
function semantic(client) {
  return {
    read: ({ valueKey }) => client.get(valueKey),
    write: async ({ valueKey, cacheTtlMs, value }) => {
      await client.set(valueKey, value, { expiration: { type: "PX", value: cacheTtlMs } });
      return true;
    },
    invalidate: async () => {},
  };
}

const ids = (round) => Array.from({ length: KEYS }, (_, key) => `user:${round}:${key}`);

/** One contender: a cache whose source notes when it is called, and returns `source.answer`. */
async function contender(server, client) {
  const startedAt = new Map();
  const source = (id) => {
    startedAt.set(id, performance.now());
    return source.answer;
  };
  source.answer = VALUE;
  const own = client === undefined ? undefined : semantic(client);
  const { cache, get, close } = await dialcacheRedis(source, {
    url: server.url,
    client: own,
    readTimeoutMs: DEADLINE_MS,
  });
  return { cache, get, close, source, startedAt };
}

/** How late each source started, and the main thread's time for a key. */
async function frozen(server, { cache, get, source, startedAt }, round) {
  const keys = ids(`frozen ${round}`);
  const calledAt = new Float64Array(KEYS);
  startedAt.clear();
  server.freeze();
  await sleep(SETTLE_MS);
  source.answer = sleep(ANSWER_MS, VALUE);
  const elapsed = stopwatch();
  await cache.enable(() =>
    Promise.all(
      keys.map((id, key) => {
        calledAt[key] = performance.now();
        return get(id);
      }),
    ),
  );
  const { main } = elapsed();
  source.answer = VALUE;
  server.thaw();
  // What piled up is answered before the next round.
  await sleep(SETTLE_MS);
  const lateMs = keys.map((id, key) => (startedAt.get(id) ?? Number.POSITIVE_INFINITY) - calledAt[key] - DEADLINE_MS);
  return { lateMs, mainUs: main / 1_000 / KEYS };
}

/** How many of the reads counted as timed out. */
async function blocked({ cache, get, startedAt }, keys) {
  startedAt.clear();
  await cache.enable(async () => {
    const calls = keys.map((id) => get(id));
    // Clients that write in batches do so by the end of this turn.
    await nextTurn();
    const until = performance.now() + BLOCKED_MS;
    while (performance.now() < until);
    await Promise.all(calls);
  });
  return startedAt.size;
}

async function fill({ cache, get }) {
  const keys = ids("blocked");
  await cache.enable(() => Promise.all(keys.map((id) => get(id))));
  await cache.drain();
  return keys;
}

await workload(`read deadline of ${DEADLINE_MS} ms`, async (report) => {
  const server = await startRedis();
  const nodeRedisClient = await nodeRedis(server.url);
  const native = "native client";
  const timers = "node-redis, JavaScript timers";
  const contenders = { [native]: await contender(server), [timers]: await contender(server, nodeRedisClient) };
  const names = Object.keys(contenders);

  const late = Object.fromEntries(names.map((name) => [name, []]));
  const rounds = Object.fromEntries(names.map((name) => [name, { p99: [], mainUs: [] }]));
  for (let round = -WARM_UPS; round < FROZEN_ROUNDS; round++) {
    for (const name of names) {
      const { lateMs, mainUs } = await frozen(server, contenders[name], round);
      if (round < 0) continue;
      late[name].push(...lateMs);
      rounds[name].p99.push(quantile(lateMs, 0.99));
      rounds[name].mainUs.push(mainUs);
    }
  }
  report.table(
    `Redis frozen, 1,000 distinct keys, ${FROZEN_ROUNDS} rounds: the source starts later than the deadline by (ms)`,
    ["", "p50", "p90", "p99", "max", "p99 by round", "main thread µs/key"],
    names.map((name) => [
      name,
      ...[0.5, 0.9, 0.99, 1].map((q) => quantile(late[name], q)),
      figure(rounds[name].p99),
      figure(rounds[name].mainUs),
    ]),
  );

  const falseTimeouts = Object.fromEntries(names.map((name) => [name, []]));
  for (const name of names) contenders[name].keys = await fill(contenders[name]);
  for (let round = -1; round < BLOCKED_ROUNDS; round++) {
    for (const name of names) {
      const count = await blocked(contenders[name], contenders[name].keys);
      if (round >= 0) falseTimeouts[name].push(count);
    }
  }
  report.table(
    `event loop blocked for ${BLOCKED_MS} ms, replies already sent: false timeouts of ${KEYS}`,
    ["", ...falseTimeouts[native].map((_, round) => `round ${round + 1}`)],
    names.map((name) => [name, ...falseTimeouts[name]]),
  );

  report.measure("frozen-late", figure(rounds[native].p99));
  report.measure("false-timeouts", Math.max(...falseTimeouts[native]));
  for (const name of names) await contenders[name].close();
  nodeRedisClient.destroy();
});
