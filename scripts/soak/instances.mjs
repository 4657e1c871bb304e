// Instances that are made, used and dropped without close(), every tenth with a native client of its own.
import { connect } from "node:net";
import { dialcache, given, soak, withRedis } from "./phase.mjs";

const { DialCache, DialCacheKeyConfig, RedisClient } = dialcache;
const { count } = given();

const BATCH = 50;

/** Connections that the server has, this question's own not counted. */
function connections(port) {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write("INFO clients\r\nQUIT\r\n"));
    socket.on("data", (data) => {
      text += data;
    });
    socket.once("error", reject);
    socket.once("close", () => resolve(Number(/connected_clients:(\d+)/.exec(text)?.[1]) - 1));
  });
}

await withRedis(async ({ url, port }) => {
  let alive = 0;
  const registry = new FinalizationRegistry(() => {
    alive -= 1;
  });
  const one = async (number) => {
    const client = number % 10 === 0 ? new RedisClient({ url }) : undefined;
    const redis = client && { redis: { client, readTimeoutMs: 5_000 } };
    const cache = new DialCache({ namespace: "instances", logger: null, ...redis });
    alive += 1;
    registry.register(cache);
    const load = cache.cached(async (id) => ({ id }), {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id) => id,
      defaultConfig: DialCacheKeyConfig.enabled(60),
    });
    const calls = () => Promise.all(["1", "2", "1"].map((id) => load(id)));
    await cache.enable(calls);
    await cache.drain({ timeoutMs: 5_000 });
  };
  const batch = async (done) => {
    await Promise.all(Array.from({ length: BATCH }, (_, index) => one(done + index)));
    return BATCH;
  };
  const problems = async () => {
    let open = Number.NaN;
    for (let round = 0; round < 200 && (alive > 0 || open !== 0); round++) {
      globalThis.gc();
      await new Promise((resolve) => setTimeout(resolve, 20));
      open = await connections(port);
    }
    return [
      ...(alive > 0 ? [`${alive} instances were not collected`] : []),
      ...(open !== 0 ? [`${open} connections were not closed`] : []),
    ];
  };
  await soak({ name: "instances", unit: "instances", count, batch, problems });
});
