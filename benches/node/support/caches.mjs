/** The packages that are compared, each set up as its documentation proposes for the job. */
import KeyvRedis from "@keyv/redis";
import { createCache } from "async-cache-dedupe";
import { BentoCache, bentostore } from "bentocache";
import { memoryDriver } from "bentocache/drivers/memory";
import { redisDriver } from "bentocache/drivers/redis";
import { createCache as createManagedCache } from "cache-manager";
import { Cacheable } from "cacheable";
import { Redis } from "ioredis";
import { Keyv } from "keyv";
import { LRUCache } from "lru-cache";
import { createClient } from "redis";
import { DialCache, DialCacheKeyConfig, RedisClient } from "../../../index.mjs";

export const LOCAL_ENTRIES = 10_000;
const TTL_SEC = 600;

export { LRUCache };

/** This package with the process-local layer only. */
export function dialcacheLocal(load, { cacheKey = (id) => id, policy = {} } = {}) {
  const cache = new DialCache({ namespace: "bench", localMaxSize: LOCAL_ENTRIES, logger: null });
  const get = cache.cached(load, {
    keyType: "user_id",
    useCase: "GetUser",
    cacheKey,
    defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: TTL_SEC }, ...policy }),
  });
  return { cache, get };
}

/** This package with Redis only, through its native client or a given one. */
export async function dialcacheRedis(
  load,
  { url, client, clientOptions = {}, namespace = "bench", readTimeoutMs = 10_000, cacheKey = (id) => id, ...options },
) {
  const redis = client ?? new RedisClient({ url, ...clientOptions });
  await redis.ready?.({ timeoutMs: 5_000 });
  const cache = new DialCache({
    namespace,
    redis: { client: redis, readTimeoutMs, ...options },
    logger: null,
  });
  const get = cache.cached(load, {
    keyType: "user_id",
    useCase: "GetUser",
    cacheKey,
    defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: TTL_SEC } }),
  });
  const close = async () => {
    await cache.drain();
    await cache.close();
    if (client === undefined) await redis.close();
  };
  return { cache, get, redis, close };
}

/** async-cache-dedupe over its memory storage. */
export function dedupeLocal(load, serialize = (id) => id) {
  const cache = createCache({ ttl: TTL_SEC, storage: { type: "memory", options: { size: LOCAL_ENTRIES } } });
  cache.define("user", { serialize }, load);
  return cache;
}

/** async-cache-dedupe over Redis. */
export function dedupeRedis(load, connection) {
  const cache = createCache({ ttl: TTL_SEC, storage: { type: "redis", options: { client: connection } } });
  cache.define("user", { serialize: (id) => id }, load);
  return cache;
}

/** bentocache over memory. `serialize: false` keeps live values, as this package does. */
export function bentoLocal({ serialize = true } = {}) {
  const driver = memoryDriver({ maxItems: LOCAL_ENTRIES, serialize });
  return new BentoCache({ default: "local", ttl: `${TTL_SEC}s`, stores: { local: bentostore().useL1Layer(driver) } });
}

/** bentocache over Redis. */
export function bentoRedis(connection, options = {}) {
  const driver = redisDriver({ connection });
  const stores = { redis: bentostore().useL2Layer(driver) };
  return new BentoCache({ default: "redis", ttl: `${TTL_SEC}s`, stores, ...options });
}

/** cache-manager over the memory store it comes with. */
export function managedLocal() {
  return createManagedCache({ ttl: TTL_SEC * 1_000 });
}

/** cache-manager over Redis. */
export function managedRedis(url) {
  return createManagedCache({ ttl: TTL_SEC * 1_000, stores: [new Keyv({ store: new KeyvRedis(url) })] });
}

/** cacheable over the memory store it comes with. */
export function cacheableLocal() {
  return new Cacheable({ ttl: TTL_SEC * 1_000 });
}

/** cacheable over Redis. */
export function cacheableRedis(url) {
  return new Cacheable({ ttl: TTL_SEC * 1_000, primary: new Keyv({ store: new KeyvRedis(url) }) });
}

/** ioredis as those who want throughput set it up, or as it comes. */
export function ioredis(port, { enableAutoPipelining = true } = {}) {
  return new Redis({ port, host: "127.0.0.1", enableAutoPipelining });
}

export async function nodeRedis(url) {
  const client = createClient({ url });
  client.on("error", () => {});
  await client.connect();
  return client;
}
