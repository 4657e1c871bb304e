import * as glide from "@valkey/valkey-glide";
import type { DialCacheRedisClient } from "dialcache-native";
import { createIoredisDialCacheClient } from "dialcache-native/ioredis";
import { createNodeRedisDialCacheClient, dialcacheRedisScripts } from "dialcache-native/node-redis";
import { createValkeyGlideDialCacheClient } from "dialcache-native/valkey-glide";
import * as ioredis5 from "ioredis-5";
import * as ioredis6 from "ioredis-6";
import * as iovalkey from "iovalkey";
import * as redis5 from "redis";
import * as redis4 from "redis-4";
import * as redis6 from "redis-6";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { type RedisServer, startRedis } from "../support/redis-server";

const scripts = dialcacheRedisScripts;

describe("types", () => {
  it("take every supported client, however it is configured", () => {
    const accepted = [
      () => createNodeRedisDialCacheClient(redis4.createClient()),
      () => createNodeRedisDialCacheClient(redis4.createClient({ scripts })),
      () => createNodeRedisDialCacheClient(redis4.createCluster({ rootNodes: [], scripts })),
      () => createNodeRedisDialCacheClient(redis5.createClient()),
      () => createNodeRedisDialCacheClient(redis5.createClient({ scripts, RESP: 3 })),
      () => createNodeRedisDialCacheClient(redis5.createCluster({ rootNodes: [], scripts })),
      () => createNodeRedisDialCacheClient(redis6.createClient()),
      () => createNodeRedisDialCacheClient(redis6.createClient({ scripts, RESP: 3 })),
      () => createNodeRedisDialCacheClient(redis6.createCluster({ rootNodes: [], scripts })),
      () => createIoredisDialCacheClient(new ioredis5.Redis({ lazyConnect: true })),
      () => createIoredisDialCacheClient(new ioredis5.Cluster([])),
      () => createIoredisDialCacheClient(new ioredis6.Redis({ lazyConnect: true })),
      () => createIoredisDialCacheClient(new ioredis6.Cluster([])),
      () => createIoredisDialCacheClient(new iovalkey.Redis({ lazyConnect: true })),
      () => createIoredisDialCacheClient(new iovalkey.Cluster([])),
      async () => createValkeyGlideDialCacheClient(await glide.GlideClient.createClient({ addresses: [] }), glide),
      async () =>
        createValkeyGlideDialCacheClient(await glide.GlideClusterClient.createClient({ addresses: [] }), glide),
    ];
    expectTypeOf(accepted).items.returns.resolves.toExtend<DialCacheRedisClient>();
  });

  it("refuse clients of other packages, at run time too", () => {
    const redis = redis5.createClient();
    const io = new ioredis5.Redis({ lazyConnect: true });
    // @ts-expect-error
    expect(() => createNodeRedisDialCacheClient({})).toThrow(TypeError);
    // @ts-expect-error
    expect(() => createNodeRedisDialCacheClient(null)).toThrow(TypeError);
    // @ts-expect-error
    expect(() => createIoredisDialCacheClient(redis)).toThrow(TypeError);
    // @ts-expect-error
    expect(() => createIoredisDialCacheClient(undefined)).toThrow(TypeError);
    // @ts-expect-error
    expect(() => createValkeyGlideDialCacheClient(io, glide)).toThrow(TypeError);
    // @ts-expect-error
    expect(() => createValkeyGlideDialCacheClient({ customCommand() {}, exec() {} }, {})).toThrow(TypeError);
    // @ts-expect-error
    expect(() => createValkeyGlideDialCacheClient({ customCommand() {}, exec() {} })).toThrow(TypeError);
  });

  it("refuse pools and Sentinel clients of node-redis, which give a tracked write no connection of its own", () => {
    const options = { name: "main", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] };
    const refused = [
      redis5.createClientPool(),
      redis5.createSentinel(options),
      redis6.createClientPool(),
      redis6.createSentinel(options),
    ];
    for (const client of refused) {
      expect(() => createNodeRedisDialCacheClient(client as never)).toThrow("not a pool or a Sentinel client");
    }
  });
});

describe("dialcacheRedisScripts", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  /** One client of each version, which share the structure that is used here. */
  const connected = (version: number) => {
    const options = { url: server.url, scripts };
    const four = () => redis4.createClient(options);
    const client = [four, () => redis5.createClient(options), () => redis6.createClient(options)][version - 4]!();
    return client as ReturnType<typeof four>;
  };

  it.each([4, 5, 6])("are methods of a client of node-redis %i", async (version) => {
    const client = connected(version);
    await client.connect();
    const nonce = Buffer.from("0102030405060708", "hex");
    const [value, watermark] = [`{${version}}value`, `{${version}}#watermark`] as const;
    await server.command("SET", value, Buffer.concat([Buffer.from([0]), nonce, Buffer.from([0x00, 0x61])]));
    expect(await client.dialcacheStamp(value, watermark, nonce, 60_000)).toBe(true);
    expect(await client.dialcacheInvalidate(watermark, 60_000)).toBeUndefined();
    await expect(createNodeRedisDialCacheClient(client).read({ valueKey: value })).resolves.toMatchObject({
      payload: "a",
    });
    await client.disconnect();
  });
});
