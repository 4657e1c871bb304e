/**
 * The same lookup through this package. Redis is the only layer: a local one would answer the popular users by itself and hide what
 * happens to the calls that do reach Redis, which is what this demo is about.
 */
import { DialCache, DialCacheKeyConfig, RedisClient } from "dialcache-native";
import { READ_TIMEOUT_MS } from "../phases.mjs";

const TTL_SEC = 300;

export async function create({ redisUrl, loadUser, warn }) {
  const redis = new RedisClient({ url: redisUrl });
  const dialcache = new DialCache({
    namespace: "demo",
    redis: { client: redis, readTimeoutMs: READ_TIMEOUT_MS },
    logger: { debug() {}, warn, error: warn },
  });
  const cachedUser = dialcache.cached(loadUser, {
    keyType: "user_id",
    useCase: "GetUser",
    cacheKey: (id) => id,
    defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: TTL_SEC } }),
  });
  await redis.ready({ timeoutMs: 5_000 });

  return {
    getUser: (id) => dialcache.enable(() => cachedUser(id)),
    close: async () => {
      await dialcache.close();
      await redis.close();
    },
  };
}
