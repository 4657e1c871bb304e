/** Everything that reads the same records from one Redis, each in its own format, already filled. */
import { deepStrictEqual } from "node:assert/strict";
import { createRequire } from "node:module";
import { GlideClient } from "@valkey/valkey-glide";
import {
  bentoRedis,
  cacheableRedis,
  dedupeRedis,
  dialcacheRedis,
  ioredis,
  managedRedis,
  nodeRedis,
} from "./caches.mjs";
import { inFlight } from "./in-flight.mjs";
import { record } from "./values.mjs";

const require = createRequire(import.meta.url);
const TTL_MS = 600_000;
/** Records written at a time, so that large ones stay within what the native client lets wait. */
const AT_ONCE = 16;
/** Keys of the bare clients: all read the same text. */
export const plainKey = (id) => `plain:${id}`;

/** The bare contender that budgets name: what no cache at all takes. */
export const PLAIN = "node-redis 5 GET + JSON.parse";
/** Bare clients that are read as `get(key)`, and what each is made with. */
const BARE = {
  "node-redis 4 GET + JSON.parse": async ({ url }) => {
    const client = await require("redis-4").createClient({ url }).connect();
    return { get: (key) => client.get(key), close: () => client.disconnect() };
  },
  "node-redis 6 GET + JSON.parse": async ({ url }) => {
    const client = await require("redis-6").createClient({ url }).connect();
    return { get: (key) => client.get(key), close: () => client.destroy() };
  },
  "ioredis GET + JSON.parse": async ({ port }) => bareIoredis(port, false),
  "ioredis, auto-pipelining": async ({ port }) => bareIoredis(port, true),
  "GLIDE GET + JSON.parse": async ({ port }) => {
    // As many as are in flight in any workload: it refuses more than a thousand otherwise.
    const options = { addresses: [{ host: "127.0.0.1", port }], inflightRequestsLimit: 20_000, requestTimeout: 10_000 };
    const client = await GlideClient.createClient(options);
    return { get: (key) => client.get(key), close: () => client.close() };
  },
};

function bareIoredis(port, enableAutoPipelining) {
  const client = ioredis(port, { enableAutoPipelining });
  return { get: (key) => client.get(key), close: () => client.disconnect() };
}

/** The caches over Redis: `{ read(id), close() }` each, `source` being what they load from. */
const CACHES = {
  "async-cache-dedupe": ({ port }, source) => {
    const connection = ioredis(port);
    const cache = dedupeRedis(source, connection);
    return { read: (id) => cache.user(id), close: () => connection.disconnect() };
  },
  bentocache: ({ port }, source) => {
    const cache = bentoRedis(ioredis(port));
    const read = (id) => cache.getOrSet({ key: id, factory: () => source(id) });
    return { read, close: () => cache.disconnectAll() };
  },
  "cache-manager": ({ url }, source) => {
    const cache = managedRedis(url);
    return { read: (id) => cache.wrap(id, () => source(id)), close: () => cache.disconnect() };
  },
  cacheable: ({ url }, source) => {
    const cache = cacheableRedis(url);
    // A prefix: its records are no other's.
    const read = (id) => cache.getOrSet(`cacheable:${id}`, () => source(id));
    return { read, close: () => cache.disconnect() };
  },
};

/** Names of all caches, and of all bare clients but {@link PLAIN}. */
export const CACHE_NAMES = Object.keys(CACHES);
export const BARE_NAMES = Object.keys(BARE);

/**
 * @param keys - How many records there are, of `bytes` each.
 * @param options - Names of `others` that read beside this package and {@link PLAIN}, from {@link CACHE_NAMES} and {@link BARE_NAMES}; more
 *   options of this package's cache in `dialcache`.
 * @returns `ids`; this package's `dialcache`; `readers`, by name a function that reads one record; and `close()`.
 */
export async function filled(server, keys, bytes, { others = [], dialcache: options = {} } = {}) {
  const ids = Array.from({ length: keys }, (_, key) => `user:${key}`);
  const numbers = new Map(ids.map((id, key) => [id, key]));
  let load = async (id) => record(bytes, numbers.get(id));
  const source = (id) => load(id);
  const fill = (write) => inFlight(AT_ONCE, keys, (key) => write(ids[key]));

  const plain = await nodeRedis(server.url);
  const closers = [() => plain.destroy()];
  await fill(async (id) =>
    plain.set(plainKey(id), JSON.stringify(await source(id)), { expiration: { type: "PX", value: TTL_MS } }),
  );
  const readers = { [PLAIN]: async (id) => JSON.parse(await plain.get(plainKey(id))) };

  const dialcache = await dialcacheRedis(source, { url: server.url, ...options });
  await dialcache.cache.enable(() =>
    fill(async (id) => {
      await dialcache.get(id);
      await dialcache.cache.drain();
    }),
  );
  closers.push(() => dialcache.close());

  for (const name of others) {
    if (Object.hasOwn(BARE, name)) {
      const { get, close } = await BARE[name](server);
      readers[name] = async (id) => JSON.parse(await get(plainKey(id)));
      closers.push(close);
    } else {
      const { read, close } = CACHES[name](server, source);
      await fill(read);
      readers[name] = read;
      closers.push(close);
    }
  }
  // From here on all must come from Redis.
  load = async (id) => {
    throw new Error(`${id} was not found in Redis`);
  };
  const last = keys - 1;
  const expected = record(bytes, last);
  deepStrictEqual(await dialcache.cache.enable(() => dialcache.get(ids[last])), expected);
  for (const read of Object.values(readers)) deepStrictEqual(await read(ids[last]), expected);
  const close = async () => {
    for (const one of closers) await one();
  };
  return { ids, dialcache, readers, close };
}
