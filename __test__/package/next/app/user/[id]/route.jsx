import { DialCache, DialCacheKeyConfig, RedisClient } from "dialcache-native";

export const dynamic = "force-dynamic";

const redis = new RedisClient({ url: process.env.CONSUMER_REDIS_URL });
const dialcache = new DialCache({ namespace: "next-consumer", redis: { client: redis, readTimeoutMs: 10_000 } });
let runs = 0;
const getUser = dialcache.cached(async (id) => ({ id, run: ++runs }), {
  keyType: "user_id",
  useCase: "GetUser",
  cacheKey: (id) => id,
  defaultConfig: DialCacheKeyConfig.enabled(60),
});

export async function GET(_request, { params }) {
  const { id } = await params;
  const [first, second] = await dialcache.enable(async () => [await getUser(id), await getUser(id)]);
  return Response.json({ first, second, hits: dialcache.stats().useCases.GetUser.hits });
}
