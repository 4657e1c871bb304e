/** Cache-aside by hand over node-redis, as it stands in many services: errors are handled, waiting is not bounded. */
import { createClient } from "redis";

const TTL_SEC = 300;

export async function create({ redisUrl, loadUser, warn }) {
  const redis = createClient({ url: redisUrl });
  redis.on("error", (error) => warn(error));
  await redis.connect();

  async function getUser(id) {
    const key = `user:${id}`;
    try {
      const cached = await redis.get(key);
      if (cached !== null) return JSON.parse(cached);
    } catch (error) {
      warn(error);
    }
    const user = await loadUser(id);
    redis.set(key, JSON.stringify(user), { expiration: { type: "EX", value: TTL_SEC } }).catch(warn);
    return user;
  }

  return { getUser, close: async () => redis.destroy() };
}
