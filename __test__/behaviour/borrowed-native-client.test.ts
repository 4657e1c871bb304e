import {
  BufferSerializer,
  DialCache,
  DialCacheKeyConfig,
  type DialCacheRedisClient,
  RedisClient,
} from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RedisServer, startRedis } from "../support/redis-server";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

/** A native client as another copy of the package sees it: by its methods alone. */
function byMethods(client: RedisClient): DialCacheRedisClient {
  return {
    read: (request, context) => client.read(request, context),
    write: (request) => client.write(request),
    invalidate: (request) => client.invalidate(request),
  };
}

describe("a native client used through the semantic interface", () => {
  let server: RedisServer;
  let client: RedisClient;

  beforeAll(async () => {
    server = await startRedis();
    client = new RedisClient({ url: server.url });
    await client.ready({ timeoutMs: 10_000 });
  });

  afterAll(async () => {
    client.close();
    await server.stop();
  });

  const payloads: [string, Buffer][] = [
    ["plain bytes", Buffer.from("plain")],
    ["bytes that look like an escape", Buffer.from([0, 0, 1, 2])],
    ["bytes that look compressed", Buffer.from([1, 40, 181, 47, 253])],
    ["nothing", Buffer.alloc(0)],
    ["many compressible bytes", Buffer.alloc(100_000, "x")],
  ];

  it.each(payloads)("%s: one entry for it and for the client's own engine", async (name, bytes) => {
    const caches = [client, byMethods(client)].map(
      (redis) =>
        new DialCache({ namespace: "borrowed", redis: { client: redis, readTimeoutMs: 5_000 }, localMaxSize: 0 }),
    );
    const [own, borrowed] = caches as [DialCache, DialCache];
    for (const [writer, reader] of [
      [own, borrowed],
      [borrowed, own],
    ] as const) {
      const key = `${name} ${writer === own}`;
      let loads = 0;
      const load = (cache: DialCache): Promise<Uint8Array> =>
        cache.enable(() =>
          cache.getOrLoad(
            () => {
              loads += 1;
              return bytes;
            },
            {
              keyType: "id",
              useCase: "Bytes",
              key,
              defaultConfig: DialCacheKeyConfig.enabled(60),
              serializer: new BufferSerializer(),
            },
          ),
        );
      expect(await load(writer)).toEqual(bytes);
      expect(await writer.drain({ timeoutMs: 10_000 })).toBe(true);
      expect(await load(reader)).toEqual(bytes);
      expect(loads).toBe(1);
    }
  });
});
