/**
 * A process whose memory is measured: `node --expose-gc memory-process.mjs <task> <contender> <count>`. Its last line is JSON.
 *
 * - `entries`: fills a cache with entries that all have the same value, so that what they take is what is beyond the values;
 * - `values`: fills it with a value of 500 B each, and then reads and writes;
 * - `pending`: has reads under way that a frozen Redis does not answer.
 */
import { PerformanceObserver } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { DialCache, DialCacheKeyConfig } from "../../../index.mjs";
import { endAll } from "../../../scripts/demo/children.mjs";
import { dialcacheRedis, LRUCache, nodeRedis } from "./caches.mjs";
import { stopwatch } from "./cpu.mjs";
import { startRedis } from "./redis.mjs";

const [task, contender, countText] = process.argv.slice(2);
const count = Number(countText);
const SETTLE_MS = 50;
const MIXED = 300_000;
/** One in so many calls of the mix is of a key that is not there. */
const NEW_IN = 10;
/** Visits all keys in an order that no prefetcher guesses. */
const STRIDE = 7_919;
const TEXT = "a text of some length, as names and addresses are";

const shared = { name: "a user", active: true };
const own = (id) => ({
  id,
  active: true,
  fields: Array.from({ length: 8 }, (_, field) => `${id} ${field} ${TEXT.slice(0, 48 - id.length)}`),
});

/** `fill(id, value)` and `get(id, value)` of a contender; `value` makes the value. */
const CONTENDERS = {
  "dialcache-native": () => {
    const cache = new DialCache({ namespace: "bench", localMaxSize: count, logger: null });
    let value;
    const get = cache.cached(async (id) => value(id), {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 3_600 } }),
    });
    return {
      run: (made, body) => {
        value = made;
        return cache.enable(body);
      },
      call: get,
      size: () => cache.stats().local.entries,
    };
  },
  "lru-cache": () => {
    const lru = new LRUCache({ max: count, ttl: 3_600_000 });
    return aside(lru, () => lru.size);
  },
  Map: () => {
    const map = new Map();
    return aside(map, () => map.size);
  },
};

/** Cache-aside over anything with `get` and `set`. */
function aside(store, size) {
  let value;
  const call = async (id) => {
    let found = store.get(id);
    if (found === undefined) {
      found = await value(id);
      store.set(id, found);
    }
    return found;
  };
  const run = (made, body) => {
    value = made;
    return body();
  };
  return { run, call, size };
}

/** What is there when everything that can go is gone: RSS, and the part of it that is JavaScript's. */
async function memory() {
  for (let time = 0; time < 3; time++) {
    globalThis.gc();
    await sleep(SETTLE_MS);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, javascript: heapUsed + external };
}

/** Bytes for one of the `count`, since `before`. */
async function grown(before) {
  const after = await memory();
  const javascript = (after.javascript - before.javascript) / count;
  return { bytes: (after.rss - before.rss) / count, javascript };
}

async function entries(value) {
  const { run, call, size } = CONTENDERS[contender]();
  const pauses = [0];
  const observer = new PerformanceObserver((list) => pauses.push(...list.getEntries().map(({ duration }) => duration)));
  await run(value, () => call("warm"));
  const before = await memory();
  observer.observe({ entryTypes: ["gc"] });
  await run(value, async () => {
    for (let key = 0; key < count; key++) await call(`user:${key}`);
  });
  // They are told later.
  await sleep(SETTLE_MS);
  observer.disconnect();
  const entry = await grown(before);
  if (size() < count * 0.999) throw new Error(`${size()} of ${count} entries`);
  const found = { ...entry, longestGcMs: Math.max(...pauses) };
  if (task !== "values") return found;
  const elapsed = stopwatch();
  await run(value, async () => {
    for (let op = 0; op < MIXED; op++) {
      await call(op % NEW_IN === 0 ? `new:${op}` : `user:${(op * STRIDE) % count}`);
    }
  });
  return { ...found, mixedNs: elapsed().main / MIXED };
}

async function pending() {
  const server = await startRedis();
  const ids = Array.from({ length: count }, (_, key) => `user:${key}`);
  let read;
  if (contender === "dialcache-native") {
    const { cache, get } = await dialcacheRedis(async () => shared, {
      url: server.url,
      readTimeoutMs: 600_000,
      clientOptions: { maxPending: 2 * count, maxPendingBytes: 1 << 30, responseTimeoutMs: 600_000 },
    });
    read = () => cache.enable(() => Promise.all(ids.map((id) => get(id))));
  } else {
    const client = await nodeRedis(server.url);
    read = () => Promise.all(ids.map((id) => client.get(id)));
  }
  server.freeze();
  const before = await memory();
  read().catch(() => {});
  await sleep(10 * SETTLE_MS);
  return grown(before);
}

const tasks = { entries: () => entries(() => shared), values: () => entries(own), pending };
try {
  console.log(JSON.stringify(await tasks[task]()));
} finally {
  endAll();
}
// Reads that are pending would keep the process.
process.exit();
