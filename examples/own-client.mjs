// A client of your own: node-redis behind the semantic interface, with budgets of its own, and entries that the native
// `RedisClient` can read.
//
//   REDIS_URL=redis://127.0.0.1:6379 node examples/own-client.mjs
import assert from "node:assert/strict";
import { DialCache, DialCacheKeyConfig, RedisClient } from "dialcache-native";
import { createClient, RESP_TYPES } from "redis";

const RESPONSE_TIMEOUT_MS = 2_000;
const noop = () => {};

/** Makes a client for `redis: { client }` of `new DialCache()`. It connects in the background. */
export function nodeRedisClient(url) {
  const client = createClient({
    url,
    // Commands fail at once while there is no connection, instead of waiting for one,
    disableOfflineQueue: true,
    // and so do those beyond this many, sent or not.
    commandsQueueMaxLength: 10_000,
    socket: {
      connectTimeout: 2_000,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, 2_000) * Math.random(),
      // Also ends a connection that was accepted and then says nothing. An idle one is opened again.
      socketTimeout: 10_000,
    },
  });
  // Without a listener node-redis ends the process at the first connection error.
  client.on("error", noop);
  const connect = () => client.connect().then(noop, noop);
  const firstAttempt = connect();

  /** A command without a reply for so long takes its connection with it: node-redis itself would go on waiting. */
  async function bounded(command) {
    let timer;
    const silence = new Promise((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`no reply from Redis for ${RESPONSE_TIMEOUT_MS} ms`));
        if (client.isOpen) client.destroy();
        connect();
      }, RESPONSE_TIMEOUT_MS);
    });
    try {
      return await Promise.race([command, silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    /** Resolves when the client is connected for the first time. */
    ready: () => firstAttempt,
    async read({ valueKey }, context) {
      // The signal takes a command out of the queue. One that is on its way it cannot call back.
      const options = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer }, abortSignal: context?.signal };
      const frame = await bounded(client.withCommandOptions(options).get(valueKey));
      return frame === null ? null : decode(frame);
    },
    async write({ valueKey, value, cacheTtlMs }) {
      const expiration = { type: "PX", value: cacheTtlMs };
      await bounded(client.set(valueKey, encode(value, Date.now()), { expiration }));
      return true;
    },
    invalidate() {
      throw new Error("this client is for untracked keys");
    },
    close() {
      if (client.isOpen) client.destroy();
    },
  };
}

// The frame of the wire format: version 1, the time of writing in milliseconds (8 bytes, big-endian), 0 for text or 1 for
// bytes, then the payload. Text must come back as text and bytes as bytes; how a client sees to that is its own business,
// and this way makes its entries readable for every other client of the format.
const HEADER_BYTES = 10;
const VERSION = 1;

function encode(value, createdAtMs) {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(VERSION, 0);
  header.writeBigUInt64BE(BigInt(createdAtMs), 1);
  header.writeUInt8(typeof value === "string" ? 0 : 1, 9);
  return Buffer.concat([header, Buffer.from(value)]);
}

function decode(frame) {
  if (frame.length < HEADER_BYTES || frame[0] !== VERSION) return null;
  const encoding = frame[9];
  if (encoding > 1) throw new Error("the stored value has an unknown encoding");
  const body = frame.subarray(HEADER_BYTES);
  return { payload: encoding === 0 ? body.toString("utf8") : body, createdAtMs: Number(frame.readBigUInt64BE(1)) };
}

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const client = nodeRedisClient(url);
const native = new RedisClient({ url });
await Promise.all([client.ready(), native.ready({ timeoutMs: 5_000 })]);

// Two instances, as if in two processes: one over node-redis, one over the native client.
let loads = 0;
const overClient = (redisClient) => new DialCache({ redis: { client: redisClient, readTimeoutMs: 500 } });
const caches = [client, native].map(overClient);
const [first, second] = caches.map((cache) =>
  cache.cached(async (id) => ({ id, text: "x".repeat(10_000), load: ++loads }), {
    keyType: "document_id",
    useCase: "GetDocument",
    cacheKey: (id) => id,
    defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
  }),
);

const id = String(Date.now());
const written = await caches[0].enable(() => first(id));
await caches[0].drain();
const read = await caches[1].enable(() => second(id));
assert.deepEqual(read, written);
console.log(`written over node-redis, read by the native client, ${loads} load`);

for (const cache of caches) await cache.close();
client.close();
native.close();
