// Calls that fail, or meet a failure: sources that throw, hang or are fatal, a Redis that is down, frozen or answers what
// nobody can load, reads that never settle, and keys that cannot be made.
import { dialcache, given, leftovers, soak, withRedis } from "./phase.mjs";

const { DialCache, DialCacheKeyConfig, RedisClient, source } = dialcache;
const { count, random } = given();

const BATCH = 500;
const never = () => new Promise(() => {});

await withRedis(async (server) => {
  const inRedis = new DialCacheKeyConfig({ ttlSec: { remote: 60 } });
  const clients = {
    down: new RedisClient({ url: "redis://127.0.0.1:1" }),
    frozen: new RedisClient({ url: server.url, responseTimeoutMs: 100, maxPending: 1_000 }),
  };
  await clients.frozen.ready({ timeoutMs: 5_000 });
  server.freeze();
  const settled = { write: async () => true, invalidate: async () => {} };
  const caches = {
    down: new DialCache({ redis: { client: clients.down, readTimeoutMs: 50 }, logger: null }),
    frozen: new DialCache({ redis: { client: clients.frozen, readTimeoutMs: 2 }, logger: null }),
    hanging: new DialCache({ redis: { client: { read: never, ...settled }, readTimeoutMs: 2 }, logger: null }),
    broken: new DialCache({
      redis: { client: { read: async () => "{", ...settled }, readTimeoutMs: 50 },
      logger: null,
    }),
    local: new DialCache({ logger: null }),
  };
  const useCase = (cache, name, load, options) =>
    cache.cached(load, { keyType: "user_id", useCase: name, cacheKey: (id) => id, defaultConfig: inRedis, ...options });
  const object = async (id) => ({ id });
  const refuse = async (id) => {
    throw new Error(`no ${id}`);
  };
  const attempts = source([(_ctx, id) => refuse(id), (_ctx, id) => refuse(id)], {
    name: "refusing",
    idempotent: true,
    failover: {},
    retry: { isTransient: () => true, maxAttempts: 2, baseDelayMs: 1 },
  });
  const off = { defaultConfig: new DialCacheKeyConfig({}) };
  const onlyLocal = { defaultConfig: DialCacheKeyConfig.enabled(60) };
  const calls = [
    useCase(caches.down, "Down", object),
    useCase(caches.down, "DownAndRefused", refuse),
    useCase(caches.frozen, "Frozen", object),
    useCase(caches.hanging, "Hanging", object),
    useCase(caches.hanging, "HangingAndRefused", refuse),
    useCase(caches.broken, "Broken", object),
    useCase(caches.local, "Refused", refuse, onlyLocal),
    useCase(caches.local, "TooLate", never, { ...off, fallbackTimeoutMs: 2 }),
    useCase(caches.local, "NoKey", object, {
      cacheKey: () => {
        throw new Error("no key");
      },
    }),
    (id) => attempts.execute({}, id),
  ];
  const enabled = (run) => Object.values(caches).reduce((inner, cache) => () => cache.enable(inner), run)();
  let failed = 0;
  const batch = async () => {
    const one = () => calls[Math.floor(random() * calls.length)](String(Math.floor(random() * 100_000)));
    const results = await enabled(() => Promise.allSettled(Array.from({ length: BATCH }, one)));
    failed += results.filter(({ status }) => status === "rejected").length;
    return BATCH;
  };
  const problems = async () => {
    await Promise.all(Object.values(caches).map((cache) => cache.drain({ timeoutMs: 10_000 })));
    // The frozen server's connection is given up, and with it what is pending on it.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const found = leftovers(caches);
    const { errors } = caches.hanging.stats().useCases.Hanging;
    if (failed === 0 || errors === undefined) found.push("nothing failed");
    for (const client of Object.values(clients)) client.close();
    return found;
  };
  await soak({ name: "failing", unit: "operations", count, batch, problems });
});
