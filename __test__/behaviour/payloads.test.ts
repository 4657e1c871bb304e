import {
  BufferSerializer,
  DialCache,
  type DialCacheRedisClient,
  type Serializer,
  StringSerializer,
} from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type RedisServer, startRedis } from "../support/redis-server";
import { CLIENT_RIGS, connectClient, JSON_SERIALIZER, loader, REMOTE_ONLY, type RigKind, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const KINDS: readonly RigKind["client"][] = ["JavaScript client", "native client"];

const strings = new StringSerializer() as unknown as Serializer<unknown>;
const buffers = new BufferSerializer() as unknown as Serializer<unknown>;
/** Not compressible, the same in every run. */
const noise = Buffer.from(
  Array.from({ length: 20_000 }, (_, index) => (index * index * 31 + (index >> 3) * 17) & 0xff),
);

const VALUES: readonly [name: string, value: unknown, serializer: Serializer<unknown>][] = [
  ["a small object", { id: 1, name: "é漢🙂" }, JSON_SERIALIZER],
  ["an object over the compression threshold", { rows: Array(2_000).fill({ id: 1, name: "same" }) }, JSON_SERIALIZER],
  ["an object over what is compressed beside the I/O", { text: "compressible ".repeat(30_000) }, JSON_SERIALIZER],
  ["a string", "plain é漢🙂 text", strings],
  ["the empty string", "", strings],
  ["a long string", "long é漢🙂 text ".repeat(2_000), strings],
  ["a string that looks like an envelope", "\u0001\u0000\u0002", strings],
  ["bytes", Buffer.from([255, 254, 0, 1]), buffers],
  ["no bytes", Buffer.alloc(0), buffers],
  ["bytes that look compressed (01)", Buffer.from([1, 40, 181, 47, 253, 0]), buffers],
  ["bytes that look compressed (02)", Buffer.from([2, 0]), buffers],
  ["bytes that look escaped (00 00)", Buffer.from([0, 0, 1]), buffers],
  ["bytes that look escaped (00 01)", Buffer.from([0, 1]), buffers],
  ["bytes that look escaped (00 02)", Buffer.from([0, 2, 9]), buffers],
  ["bytes that begin 00 03", Buffer.from([0, 3]), buffers],
  ["one byte 00", Buffer.from([0]), buffers],
  ["many compressible bytes", Buffer.alloc(100_000, 7), buffers],
  ["many bytes that do not compress", noise, buffers],
];

describe.each(KINDS)("written by a %s", (writerKind) => {
  describe.each(KINDS)("read by a %s", (readerKind) => {
    let server: RedisServer;
    let writer: Awaited<ReturnType<typeof connectClient>>;
    let reader: Awaited<ReturnType<typeof connectClient>>;

    beforeAll(async () => {
      server = await startRedis();
      writer = await connectClient({ client: writerKind, time: "real time" }, server.url);
      reader = await connectClient({ client: readerKind, time: "real time" }, server.url);
    });
    afterAll(async () => {
      await writer.close();
      await reader.close();
      await server.stop();
    });

    function make(client: DialCacheRedisClient, compression?: false | { thresholdBytes: number; level: number }) {
      return new DialCache({
        namespace: "payloads",
        redis: { client, readTimeoutMs: 20_000, ...(compression === undefined ? {} : { compression }) },
        logger: null,
      });
    }

    async function roundTrip(value: unknown, serializer: Serializer<unknown>, written: DialCache, read: DialCache) {
      await server.command("FLUSHALL");
      const options = { serializer, defaultConfig: REMOTE_ONLY };
      await loader(written, "Value", async () => value, options)("1");
      expect(await written.drain({ timeoutMs: 20_000 })).toBe(true);
      expect(written.stats().useCases).toMatchObject({ Value: { writes: { ok: 1, failed: 0 } } });
      const source = vi.fn(async () => "source");
      const result = await loader<unknown>(read, "Value", source, options)("1");
      expect(source).not.toHaveBeenCalled();
      expect(result).toEqual(value);
      expect(Buffer.isBuffer(result)).toBe(Buffer.isBuffer(value));
    }

    it.each(VALUES)("%s", async (_name, value, serializer) => {
      await roundTrip(value, serializer, make(writer), make(reader));
    });

    it.each(VALUES)("%s, with compression off at either end", async (_name, value, serializer) => {
      await roundTrip(value, serializer, make(writer, false), make(reader));
      await roundTrip(value, serializer, make(writer), make(reader, false));
    });

    it("a compressible value is stored smaller, an incompressible one not bigger than an escape", async () => {
      await roundTrip("same ".repeat(4_000), strings, make(writer), make(reader));
      const key = "payloads:user_id:1#Value:dialcache-frame-v1";
      expect(await server.command("STRLEN", key)).toBeLessThan(1_000);
      await roundTrip(noise, buffers, make(writer), make(reader));
      expect(await server.command("STRLEN", key)).toBeLessThanOrEqual(noise.length + 11);
    });
  });
});

describe.each(CLIENT_RIGS)("$client, $time: text that UTF-8 cannot carry", (kind) => {
  const rig = useRig(kind);
  const bare: Serializer<unknown> = { dump: (value) => value as string, load: (payload) => payload };

  it.each([
    ["cut in the middle of an emoji", "user 🙂".slice(0, -1)],
    ["too big to be sent uncompressed", `${"long ".repeat(2_000)}\udc00`],
  ])("%s, is not written: nobody gets another value than the source's", async (_what, value) => {
    const world = await rig.world();
    const source = vi.fn(async () => value);
    const load = world.load("GetUser", source, { serializer: bare });
    expect(await load("1")).toBe(value);
    await world.written();
    expect(await world.stored("GetUser", "1")).toBeNull();
    expect(await load("1")).toBe(value);
    expect(source).toHaveBeenCalledTimes(2);
    await world.written();
    expect(world.metrics.count("error", { error: "serialization_dump" })).toBe(2);
    expect(world.stats("GetUser").writes).toMatchObject({ ok: 0 });
  });
});
