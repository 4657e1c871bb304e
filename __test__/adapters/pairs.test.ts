import { randomBytes } from "node:crypto";
import {
  BufferSerializer,
  DialCache,
  DialCacheKeyConfig,
  type DialCacheRedisClient,
  JsonSerializer,
  RedisClient,
  type Serializer,
  StringSerializer,
} from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ADAPTERS } from "../support/adapters";
import { until } from "../support/real-time";
import { type RedisServer, startRedis } from "../support/redis-server";
import { SERVERS } from "../support/servers";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const COMPRESSIBLE = "compressible é ".repeat(2_000);

/** Values whose stored forms differ: text, bytes, escaped, compressed, incompressible, nothing. */
const VALUES: readonly (readonly [name: string, serializer: Serializer<unknown>, value: unknown])[] = [
  ["JSON", new JsonSerializer(), { name: "Zoë", list: [1, 2.5, null, true] }],
  ["JSON undefined", new JsonSerializer(), undefined],
  ["JSON null", new JsonSerializer(), null],
  ["long JSON", new JsonSerializer(), { text: COMPRESSIBLE }],
  ["a string", new StringSerializer() as Serializer<unknown>, "€\u0000😀"],
  ["no string", new StringSerializer() as Serializer<unknown>, ""],
  ["a long string", new StringSerializer() as Serializer<unknown>, COMPRESSIBLE],
  ["bytes", new BufferSerializer() as Serializer<unknown>, Buffer.from([0xff, 0x80, 0x00])],
  ...[0, 1, 2].map((byte): (typeof VALUES)[number] => [
    `bytes that start like an envelope (${byte})`,
    new BufferSerializer() as Serializer<unknown>,
    Buffer.from([byte, 0x00, 0x28]),
  ]),
  ["long bytes", new BufferSerializer() as Serializer<unknown>, Buffer.from(COMPRESSIBLE)],
  ["bytes that do not compress", new BufferSerializer() as Serializer<unknown>, randomBytes(10_000)],
];

/** Bytes as text: comparing long Buffers element by element takes seconds. */
function comparable(value: unknown): unknown {
  return Buffer.isBuffer(value) ? { bytes: value.toString("hex") } : value;
}

interface Party {
  readonly name: string;
  readonly client: DialCacheRedisClient;
  close(): void;
}

describe.each(SERVERS)("$name", ({ binary }) => {
  let server: RedisServer;
  const parties: Party[] = [];
  beforeAll(async () => {
    server = await startRedis({ binary });
    for (const kind of ADAPTERS) parties.push({ name: kind.name, ...(await kind.connect({ port: server.port })) });
    const native = new RedisClient({ url: server.url });
    await native.ready({ timeoutMs: 5_000 });
    parties.push({ name: "native client", client: native, close: () => native.close() });
  });
  afterAll(async () => {
    for (const { close } of parties) close();
    await server.stop();
  });

  it.each(VALUES)("an entry written by one is read by every other: %s", async (name, serializer, value) => {
    for (const writer of parties) {
      const namespace = `${writer.name} ${name}`.replaceAll(/[^a-z0-9]+/gi, "-");
      const options = { keyType: "id", useCase: "Pair", cacheKey: (id: string) => id, serializer };
      const defaultConfig = new DialCacheKeyConfig({ ttlSec: { remote: 60 } });
      const cacheOf = (client: DialCacheRedisClient) =>
        new DialCache({ namespace, redis: { client, readTimeoutMs: 5_000 }, logger: null });

      const writing = cacheOf(writer.client);
      const write = writing.cached(async (_id: string): Promise<unknown> => value, { ...options, defaultConfig });
      await writing.enable(() => write("1"));
      await until("the entry is written", () => writing.stats().pendingWrites === 0);
      await writing.close();

      for (const reader of parties) {
        const reading = cacheOf(reader.client);
        const missed = async (_id: string): Promise<unknown> => {
          throw new Error(`${reader.name} did not find what ${writer.name} wrote`);
        };
        const read = reading.cached(missed, { ...options, defaultConfig });
        expect(comparable(await reading.enable(() => read("1")))).toEqual(comparable(value));
        await reading.close();
      }
    }
  });

  // The native client joins once it knows tracked keys.
  it.each([
    ["text", "€\u0000😀"],
    ["bytes", Buffer.from([0xff, 0x80, 0x00])],
  ])("a tracked entry written by one is read by every other: %s", async (name, value) => {
    const tracking = parties.filter((party) => party.name !== "native client");
    for (const writer of tracking) {
      const tag = `{tracked:${name}:${encodeURIComponent(writer.name)}}`;
      const keys = { valueKey: `${tag}#Pair`, watermarkKey: `${tag}#watermark` };
      expect(await writer.client.write({ ...keys, cacheTtlMs: 60_000, value })).toBe(true);
      const hits = await Promise.all(tracking.map(({ client }) => client.read(keys)));
      expect(hits).toEqual(tracking.map(() => ({ payload: value, createdAtMs: expect.any(Number) })));
      for (const invalidator of tracking) {
        await invalidator.client.invalidate({ watermarkKey: keys.watermarkKey, futureBufferMs: 60_000 });
        expect(await Promise.all(tracking.map(({ client }) => client.read(keys)))).toEqual(tracking.map(() => null));
        expect(await writer.client.write({ ...keys, cacheTtlMs: 60_000, value })).toBe(false);
      }
    }
  });
});
