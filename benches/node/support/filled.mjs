/** Everything that reads the same records from one Redis, each in its own format, already filled. */
import { bentoRedis, dedupeRedis, dialcacheRedis, ioredis, nodeRedis } from "./caches.mjs";
import { inFlight } from "./in-flight.mjs";
import { record } from "./values.mjs";

const TTL_MS = 600_000;
/** Records written at a time, so that large ones stay within what the native client lets wait. */
const AT_ONCE = 16;

/**
 * @param keys - How many records there are, of `bytes` each.
 * @returns `ids`; per client a function that reads one; and `close()`. async-cache-dedupe and bentocache are there only with `caches`.
 */
export async function filled(server, keys, bytes, { caches = true } = {}) {
  const ids = Array.from({ length: keys }, (_, key) => `user:${key}`);
  let load = async (id) => record(bytes, ids.indexOf(id));
  const source = (id) => load(id);
  const fill = (write) => inFlight(AT_ONCE, keys, (key) => write(ids[key]));

  const plain = await nodeRedis(server.url);
  const options = { expiration: { type: "PX", value: TTL_MS } };
  await fill(async (id) => plain.set(`plain:${id}`, JSON.stringify(await source(id)), options));
  const closers = [() => plain.destroy()];

  const dialcache = await dialcacheRedis(source, { url: server.url });
  await dialcache.cache.enable(() =>
    fill(async (id) => {
      await dialcache.get(id);
      await dialcache.cache.drain();
    }),
  );
  closers.push(() => dialcache.close());

  const others = {};
  if (caches) {
    const connections = [ioredis(server.port), ioredis(server.port)];
    const dedupe = dedupeRedis(source, connections[0]);
    const bento = bentoRedis(connections[1]);
    others.dedupe = (id) => dedupe.user(id);
    others.bento = (id) => bento.getOrSet({ key: id, factory: () => source(id) });
    await fill(others.dedupe);
    await fill(others.bento);
    closers.push(
      () => connections[0].disconnect(),
      () => bento.disconnectAll(),
    );
  }
  // From here on all must come from Redis.
  load = async (id) => {
    throw new Error(`${id} was not found in Redis`);
  };
  return {
    ids,
    dialcache,
    ...others,
    plain: async (id) => JSON.parse(await plain.get(`plain:${id}`)),
    close: async () => {
      for (const close of closers) await close();
    },
  };
}
