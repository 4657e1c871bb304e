import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { DialCache, DialCacheKeyConfig, type DialCacheRedisClient, RedisClient } from "dialcache-native";
import { createNodeRedisDialCacheClient } from "dialcache-native/node-redis";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { packageEntry } from "../support/child";
import { startOpenLoop } from "../support/open-loop";
import { realDelay } from "../support/real-time";
import { type RedisServer, startRedis } from "../support/redis-server";
import { useCaseStats } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const IDS = 20;
const ROUNDS = 3;
const CALLS_PER_SECOND = 1_000;
const SLOWEST_LOAD_MS = 40;
/** So much longer than a load that no stall of a busy machine makes a load outlast it. */
const BUFFER_MS = 1_000;

const CLIENTS = ["native client", "node-redis"] as const;

/** What all instances share: by id, the source's version, and the oldest that may be served. */
interface Shared {
  readonly versions: Int32Array;
  readonly floors: Int32Array;
}

/** A served value that was older than what the latest invalidation before the call allows. */
type Violation = readonly [id: number, served: number, floor: number];

/** The other process's instance: without a local layer and flights to join, which no process but its own can bar. */
const OTHER = `
const { parentPort, workerData } = require("node:worker_threads");
const { DialCache, DialCacheKeyConfig, RedisClient } = require(workerData.entry);
const { versions, floors, url, ids, slowest } = workerData;
async function connect() {
  if (workerData.kind === "native client") {
    const client = new RedisClient({ url });
    await client.ready({ timeoutMs: 10_000 });
    return { client, close: () => client.close() };
  }
  const { createNodeRedisDialCacheClient } = require(workerData.adapter);
  const connection = require(workerData.redis).createClient({ url });
  connection.on("error", () => {});
  await connection.connect();
  return { client: createNodeRedisDialCacheClient(connection), close: () => connection.destroy() };
}
(async () => {
  const { client, close } = await connect();
  const cache = new DialCache({ namespace: "stress", redis: { client, readTimeoutMs: 20_000 }, logger: null });
  const load = cache.cached(async (id) => {
    const version = Atomics.load(versions, id);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * slowest));
    return version;
  }, {
    keyType: "user_id", useCase: "Get", cacheKey: String, trackForInvalidation: true,
    defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 600 }, coalesce: false }),
  });
  const violations = [];
  const check = async (id) => {
    const floor = Atomics.load(floors, id);
    const served = await cache.enable(() => load(id));
    if (served < floor) violations.push([id, served, floor]);
  };
  let stopped = false;
  const readers = Array.from({ length: ids }, async (_, id) => {
    while (!stopped) {
      await Promise.all([check(id), check(id)]);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
    }
  });
  parentPort.once("message", async () => {
    stopped = true;
    await Promise.all(readers);
    await cache.drain();
    const stats = cache.stats().useCases.Get;
    await cache.close();
    await close();
    parentPort.postMessage({ violations, hits: stats.hits.remote, fenced: stats.writes.fenced });
  });
  parentPort.postMessage("ready");
})();`;

/** Whose answer is one message. */
function messageOf<T>(worker: Worker): Promise<T> {
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

async function startOther(kind: string, url: string, shared: Shared) {
  const { resolve } = createRequire(import.meta.url);
  const adapter = packageEntry.replace("index.js", "adapters/node-redis.js");
  const places = { entry: packageEntry, adapter, redis: resolve("redis") };
  const workerData = { ...shared, ...places, kind, url, ids: IDS, slowest: SLOWEST_LOAD_MS };
  const worker = new Worker(OTHER, { eval: true, workerData });
  onTestFinished(async () => void (await worker.terminate()));
  await messageOf(worker);
  return {
    stop: () => {
      const result = messageOf<{ violations: Violation[]; hits: number; fenced: number }>(worker);
      worker.postMessage("stop");
      return result;
    },
  };
}

async function connect(kind: (typeof CLIENTS)[number], url: string): Promise<DialCacheRedisClient> {
  if (kind === "native client") {
    const client = new RedisClient({ url });
    onTestFinished(() => client.close());
    await client.ready({ timeoutMs: 10_000 });
    return client;
  }
  const connection = createClient({ url });
  connection.on("error", () => {});
  await connection.connect();
  onTestFinished(() => connection.destroy());
  return createNodeRedisDialCacheClient(connection);
}

describe.each(CLIENTS)("invalidations against slow loads, %s", (kind) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  it("a value loaded before an invalidation is never served after it, in any layer, in two processes", async () => {
    const array = () => new Int32Array(new SharedArrayBuffer(IDS * Int32Array.BYTES_PER_ELEMENT));
    const shared = { versions: array(), floors: array() };
    const client = await connect(kind, server.url);
    const cache = new DialCache({ namespace: "stress", redis: { client, readTimeoutMs: 20_000 }, logger: null });
    onTestFinished(() => cache.close());
    const load = cache.cached(
      async (id: number) => {
        const version = Atomics.load(shared.versions, id);
        await realDelay(Math.random() * SLOWEST_LOAD_MS);
        return version;
      },
      {
        keyType: "user_id",
        useCase: "Get",
        cacheKey: String,
        trackForInvalidation: true,
        defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 600, remote: 600 }, requestLocal: true }),
      },
    );
    const violations: Violation[] = [];
    /** To be called in a scope. */
    const check = async (id: number) => {
      const floor = Atomics.load(shared.floors, id);
      const served = await load(id);
      if (served < floor) violations.push([id, served, floor]);
    };
    const call = (id: number) => cache.enable(() => check(id));
    const other = await startOther(kind, server.url, shared);
    const loop = startOpenLoop(CALLS_PER_SECOND, (number) => call(number % IDS));
    let invalidations = 0;
    const change = async (id: number) => {
      const version = Atomics.add(shared.versions, id, 1) + 1;
      const invalidated = cache.invalidateRemote("user_id", id, BUFFER_MS);
      const meanwhile = call(id);
      await invalidated;
      invalidations += 1;
      Atomics.store(shared.floors, id, version);
      await Promise.all([meanwhile, call(id)]);
    };
    const changing = Array.from({ length: IDS }, (_, id) =>
      // One scope for all of an id's rounds, which keeps what it has seen.
      cache.enable(async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          for (let burst = 0; burst < 1 + (id % 3); burst += 1) {
            await check(id);
            await change(id);
            await check(id);
            await realDelay(Math.random() * SLOWEST_LOAD_MS);
          }
          await realDelay(BUFFER_MS + Math.random() * 300);
          await check(id);
        }
      }),
    );
    await Promise.all(changing);
    expect((await loop.stop()).errors).toEqual([]);
    const others = await other.stop();

    expect(violations).toEqual([]);
    expect(others.violations).toEqual([]);
    expect(invalidations).toBeGreaterThanOrEqual(IDS * ROUNDS);
    // Loads were overtaken by invalidations, and every layer has served.
    const { hits, writes } = useCaseStats(cache, "Get");
    expect(Math.min(writes.fenced, others.fenced)).toBeGreaterThan(IDS);
    expect(Math.min(hits.request_local, hits.local, others.hits)).toBeGreaterThan(0);
  });
});
