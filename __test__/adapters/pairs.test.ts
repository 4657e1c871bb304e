import { randomBytes } from "node:crypto";
import {
  BufferSerializer,
  DialCache,
  DialCacheKeyConfig,
  type DialCacheRedisClient,
  JsonSerializer,
  type Serializer,
  StringSerializer,
} from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENTS, payloadOf } from "../support/adapters";
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

/** A client and a cache over it, whose source knows only the values of its own name. */
interface Party {
  readonly name: string;
  readonly client: DialCacheRedisClient;
  readonly cache: DialCache;
  /** Loads the value with this number, which `writer` has written. */
  load(value: number, writer: string): Promise<unknown>;
  close(): Promise<void>;
}

function partyOf(name: string, client: DialCacheRedisClient, end: () => void): Party {
  const cache = new DialCache({ namespace: "pairs", redis: { client, readTimeoutMs: 20_000 }, logger: null });
  const loads = VALUES.map(([title, serializer, value], index) => {
    const source = async (writer: string): Promise<unknown> => {
      if (writer !== name) throw new Error(`${name} did not find what ${writer} wrote: ${title}`);
      return value;
    };
    const defaultConfig = new DialCacheKeyConfig({ ttlSec: { remote: 600 } });
    return cache.cached(source, {
      keyType: "writer",
      useCase: `Value${index}`,
      cacheKey: (writer) => writer,
      serializer,
      defaultConfig,
    });
  });
  return {
    name,
    client,
    cache,
    load: (value, writer) => cache.enable(() => loads[value]!(writer)),
    close: async () => {
      await cache.close();
      end();
    },
  };
}

describe.each(SERVERS)("$name", ({ binary }) => {
  let server: RedisServer;
  const parties: Party[] = [];
  beforeAll(async () => {
    server = await startRedis({ binary });
    for (const kind of CLIENTS) {
      const { client, close } = await kind.connect({ port: server.port });
      parties.push(partyOf(kind.name, client, close));
    }
  });
  afterAll(async () => {
    for (const party of parties) await party.close();
    await server.stop();
  });

  it.each(VALUES.map(([name, , value], index) => [name, index, value] as const))(
    "an entry written by one is read by every other: %s",
    async (_name, index, value) => {
      for (const writer of parties) {
        await writer.load(index, writer.name);
        await until("the entry is written", () => writer.cache.stats().pendingWrites === 0);
        const read = await Promise.all(parties.map((reader) => reader.load(index, writer.name)));
        expect(read.map(comparable)).toEqual(parties.map(() => comparable(value)));
      }
    },
  );

  it.each([
    ["text", "€\u0000😀"],
    ["bytes", Buffer.from([0xff, 0x80, 0x00])],
  ])("a tracked entry written by one is read, and invalidated, by every other: %s", async (name, value) => {
    for (const writer of parties) {
      const tag = `{tracked:${name}:${encodeURIComponent(writer.name)}}`;
      const keys = { valueKey: `${tag}#Pair`, watermarkKey: `${tag}#watermark` };
      expect(await writer.client.write({ ...keys, cacheTtlMs: 60_000, value })).toBe(true);
      const hits = await Promise.all(parties.map(({ client }) => client.read(keys)));
      expect(hits.map(payloadOf)).toEqual(parties.map(() => value));
      for (const invalidator of parties) {
        await invalidator.client.invalidate({ watermarkKey: keys.watermarkKey, futureBufferMs: 60_000 });
        expect(await Promise.all(parties.map(({ client }) => client.read(keys)))).toEqual(parties.map(() => null));
        expect(await writer.client.write({ ...keys, cacheTtlMs: 60_000, value })).toBe(false);
      }
    }
  });
});
