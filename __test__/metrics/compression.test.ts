import { spawnSync } from "node:child_process";
import { BufferSerializer, DialCacheKeyConfig, type Serializer, StringSerializer } from "dialcache-native";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { runScript } from "../support/child";
import { until } from "../support/real-time";
import { CLIENT_RIGS, useRig, type World } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";
import { samples } from "./support";

failOnUnhandled();

const strings = new StringSerializer() as unknown as Serializer<unknown>;
const buffers = new BufferSerializer() as unknown as Serializer<unknown>;
const FRAME_BYTES = 10;
const LIMIT_BYTES = 512 * 1024 * 1024;

/** Not compressible, the same in every run. */
function noise(bytes: number): Buffer {
  let state = 0x9e3779b9;
  return Buffer.from(
    Array.from({ length: bytes }, () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return state & 0xff;
    }),
  );
}

/** Words in no order that repeats: what a higher level makes more of than a lower one. */
function prose(words: number): string {
  const bytes = noise(words);
  return Array.from(bytes, (byte, at) => `word${byte % 61}-${(byte * at) % 17}`).join(" ");
}

/** What nobody can decompress: a frame's beginning (RFC 8878), and what is no frame. */
const CORRUPT = Buffer.from([0x02, 0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff]);

/** A frame that states a size over the limit, by hand: single segment, eight bytes of size, one empty last block. */
function overLimit(): Buffer {
  const frame = Buffer.from([0x02, 0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x00, 0x00]);
  frame.writeBigUInt64LE(BigInt(LIMIT_BYTES) + 1n, 6);
  return frame;
}

const COMPRESSION_HOOKS = ["compression", "observeCompression", "observeStoredSize", "observeCompressionRatio"];

/** What a world was told of the compressor, in the order it happened, numbers aside. */
function told(world: World): string[] {
  const names = { cacheNamespace: world.namespace, keyType: "user_id", layer: "remote" };
  const events = world.metrics.events.filter(({ method }) => COMPRESSION_HOOKS.includes(method));
  return events.map(({ method, labels: { useCase, outcome, operation, ...labels } }) => {
    expect(labels, "no other label").toEqual(names);
    expect(useCase).toBe("GetText");
    return [method, outcome ?? operation].filter((part) => part !== undefined).join(" ");
  });
}

/** The only number of a hook. */
function number(world: World, method: string, labels: Record<string, unknown> = {}): number {
  const [event, ...others] = world.metrics.of(method, labels);
  expect(others, method).toEqual([]);
  return event?.value as number;
}

describe.each(CLIENT_RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  it("a payload under the threshold is told and counted as such, and as one stored in its size", async () => {
    const world = await rig.world({ redis: { compression: { thresholdBytes: 100 } } });
    const load = world.load("GetText", async (): Promise<unknown> => "é".repeat(49), { serializer: strings });
    await load("1");
    await world.written();
    expect(told(world)).toEqual(["compression below_threshold", "observeStoredSize"]);
    expect(number(world, "observeSize")).toBe(98);
    expect(number(world, "observeStoredSize")).toBe(98);
    // Nothing was compressed: reading it passes no compressor.
    expect(await load("1")).toBe("é".repeat(49));
    expect(told(world)).toHaveLength(2);
    expect(world.stats("GetText").compression).toEqual({ below_threshold: 1 });
  });

  it.each([
    ["text", "é".repeat(50), strings],
    ["bytes", Buffer.alloc(100, 7), buffers],
  ])("%s of just the threshold is compressed, and decompressed when it is read", async (_what, value, serializer) => {
    const world = await rig.world({ redis: { compression: { thresholdBytes: 100 } } });
    const load = world.load("GetText", async (): Promise<unknown> => value, { serializer });
    await load("1");
    await world.written();
    const written = [
      "compression compressed",
      "observeCompression compress",
      "observeCompressionRatio",
      "observeStoredSize",
    ];
    expect(told(world)).toEqual(written);
    const stored = Number(await world.server.command("STRLEN", world.key("GetText", "1"))) - FRAME_BYTES;
    expect(number(world, "observeSize")).toBe(100);
    expect(number(world, "observeStoredSize")).toBe(stored);
    expect(number(world, "observeCompressionRatio")).toBe(stored / 100);
    expect(number(world, "observeCompression", { operation: "compress" })).toBeGreaterThan(0);

    expect(await load("1")).toEqual(value);
    expect(told(world)).toEqual([...written, "compression decompressed", "observeCompression decompress"]);
    expect(number(world, "observeCompression", { operation: "decompress" })).toBeGreaterThan(0);
    expect(world.stats("GetText").compression).toEqual({ compressed: 1, decompressed: 1 });
  });

  it("a payload that compressing does not make smaller took its time, and is stored as it is", async () => {
    const world = await rig.world();
    await world.load("GetText", async (): Promise<unknown> => noise(5_000), { serializer: buffers })("1");
    await world.written();
    expect(told(world)).toEqual(["compression not_smaller", "observeCompression compress", "observeStoredSize"]);
    expect(number(world, "observeStoredSize")).toBe(5_000);
    expect(number(world, "observeCompression")).toBeGreaterThan(0);
    expect(world.stats("GetText").compression).toEqual({ not_smaller: 1 });
  });

  it("a higher level stores less", async () => {
    const ratios: number[] = [];
    for (const level of [1, 19]) {
      const world = await rig.world({ redis: { compression: { level } } });
      await world.load("GetText", async (): Promise<unknown> => prose(20_000), { serializer: strings })("1");
      await world.written();
      ratios.push(number(world, "observeCompressionRatio"));
    }
    const [fast, small] = ratios as [number, number];
    expect(small).toBeLessThan(fast);
  });

  it("with compression off nothing passes the compressor, but what others compressed is read", async () => {
    const writer = await rig.world();
    await writer.load("GetText", async (): Promise<unknown> => "same ".repeat(2_000), { serializer: strings })("1");
    await writer.written();
    const world = await rig.world({ namespace: writer.namespace, redis: { compression: false } });
    const load = world.load("GetText", async (): Promise<unknown> => "same ".repeat(1_000), { serializer: strings });
    expect(await load("1")).toBe("same ".repeat(2_000));
    expect(told(world)).toEqual(["compression decompressed", "observeCompression decompress"]);
    await load("2");
    await world.written();
    expect(told(world).slice(2)).toEqual(["observeStoredSize"]);
    expect(number(world, "observeStoredSize")).toBe(5_000);
    expect(world.stats("GetText").compression).toEqual({ decompressed: 1 });
  });

  it("an escape counts as stored", async () => {
    const world = await rig.world({ redis: { compression: false } });
    await world.load("GetText", async (): Promise<unknown> => Buffer.from([0, 1, 2]), { serializer: buffers })("1");
    await world.written();
    expect(told(world)).toEqual(["observeStoredSize"]);
    expect(number(world, "observeSize")).toBe(3);
    expect(number(world, "observeStoredSize")).toBe(4);
  });

  it.each([
    ["what only looks compressed, or is corrupt", "fallback_raw", CORRUPT],
    ["more than may be decompressed", "read_over_limit", overLimit()],
  ])("%s is told before the serializer gets it as it is", async (_what, outcome, stored) => {
    const world = await rig.world();
    await world.plant("GetText", "1", stored);
    const load = world.load("GetText", async (): Promise<unknown> => Buffer.from("source"), { serializer: buffers });
    expect(await load("1")).toEqual(stored);
    expect(told(world)).toEqual([`compression ${outcome}`, "observeCompression decompress"]);
    expect(world.stats("GetText").compression).toEqual({ [outcome]: 1 });
    expect(world.metrics.count("error")).toBe(0);
  });

  it("a write the server refuses was prepared all the same", async () => {
    const world = await rig.world();
    await world.server.command("CONFIG", "SET", "maxmemory", 1);
    try {
      await world.load("GetText", async (): Promise<unknown> => "same ".repeat(2_000), { serializer: strings })("1");
      await world.written();
    } finally {
      await world.server.command("CONFIG", "SET", "maxmemory", 0);
    }
    expect(world.metrics.count("error", { error: "cache_write" })).toBe(1);
    expect(told(world)[0]).toBe("compression compressed");
    expect(number(world, "observeStoredSize")).toBeLessThan(10_000);
    expect(world.stats("GetText")).toMatchObject({ compression: { compressed: 1 }, writes: { ok: 0, failed: 1 } });
  });

  it("what a shadow validation fills and reads is told as its own", async () => {
    const world = await rig.world({ readTimeoutMs: 10_000 });
    const load = world.load("GetText", async (): Promise<unknown> => "same ".repeat(2_000), {
      serializer: strings,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 }, ramp: { remote: 0 }, shadow: { ramp: 100 } }),
    });
    for (const outcome of ["filled", "match"]) {
      await load("1");
      await until(outcome, () => world.metrics.count("shadowValidation", { outcome }) === 1);
    }
    expect(world.metrics.count("compression", { layer: "remote" })).toBe(0);
    const events = world.metrics.events.filter(({ labels: { layer } }) => layer === "remote_shadow");
    const told = events.map(({ method, labels: { outcome, operation } }) => [method, outcome ?? operation]);
    expect(told.filter(([method]) => COMPRESSION_HOOKS.includes(method as string))).toEqual([
      ["compression", "compressed"],
      ["observeCompression", "compress"],
      ["observeCompressionRatio", undefined],
      ["observeStoredSize", undefined],
      ["compression", "decompressed"],
      ["observeCompression", "decompress"],
    ]);
    const stored = Number(await world.server.command("STRLEN", world.key("GetText", "1"))) - FRAME_BYTES;
    expect(number(world, "observeStoredSize")).toBe(stored);
    expect(number(world, "observeCompressionRatio")).toBe(stored / 10_000);
    expect(world.stats("GetText").compression).toEqual({ compressed: 1, decompressed: 1 });
  });

  it("everything is counted when nobody listens", async () => {
    const world = await rig.world({ observed: false });
    const values: Record<string, unknown> = {
      small: Buffer.from("small"),
      noise: noise(5_000),
      same: Buffer.alloc(5_000),
    };
    const load = world.load("GetText", async (id): Promise<unknown> => values[id], { serializer: buffers });
    await world.plant("GetText", "corrupt", CORRUPT);
    await world.plant("GetText", "huge", overLimit());
    for (const id of ["small", "noise", "same"]) await load(id);
    await world.written();
    for (const id of ["same", "corrupt", "huge"]) await load(id);
    expect(world.metrics.events).toEqual([]);
    expect(world.stats("GetText").compression).toEqual({
      below_threshold: 1,
      not_smaller: 1,
      compressed: 1,
      decompressed: 1,
      fallback_raw: 1,
      read_over_limit: 1,
    });
  });

  it("arrives in Prometheus as it is counted", async () => {
    const registry = new Registry();
    const metrics = createPrometheusDialCacheMetrics({ registry });
    const world = await rig.world({ config: { metrics } });
    const load = world.load("GetText", async (): Promise<unknown> => "same ".repeat(2_000), { serializer: strings });
    await load("1");
    await world.written();
    await load("1");
    const text = await registry.metrics();
    const names = { cache_namespace: world.namespace, use_case: "GetText", key_type: "user_id", layer: "remote" };
    expect(samples(text, "dialcache_compression_counter")).toEqual([
      { labels: { ...names, outcome: "compressed" }, value: 1 },
      { labels: { ...names, outcome: "decompressed" }, value: 1 },
    ]);
    expect(samples(text, "dialcache_compression_timer_count")).toEqual([
      { labels: { ...names, operation: "compress" }, value: 1 },
      { labels: { ...names, operation: "decompress" }, value: 1 },
    ]);
    expect(samples(text, "dialcache_stored_size_histogram_count")).toEqual([{ labels: names, value: 1 }]);
    expect(samples(text, "dialcache_compression_ratio_histogram_count")).toEqual([{ labels: names, value: 1 }]);
  });
});

/** A payload of 16 MiB, at a level for which zstd wants hundreds. */
const STARVED = `
  const { execFileSync } = require("node:child_process");
  const { readFileSync } = require("node:fs");
  const { createClient } = require("redis");
  const { createNodeRedisDialCacheClient } = require("dialcache-native/node-redis");
  const { DialCache, RedisClient, StringSerializer } = dialcache;
  (async () => {
    const redis = await createClient({ url: process.env.URL }).connect();
    const client = process.env.KIND === "native client" ? new RedisClient({ url: process.env.URL }) : createNodeRedisDialCacheClient(redis);
    await client.ready?.({ timeoutMs: 5000 });
    const told = [];
    const tell = (method) => ({ layer, outcome, error }, value) => told.push([method, layer, outcome ?? error ?? value]);
    const metrics = { compression: tell("compression"), error: tell("error"), observeStoredSize: tell("stored") };
    const warnings = [];
    const cache = new DialCache({
      namespace: process.env.OBSERVED,
      redis: { client, readTimeoutMs: 20000, compression: { level: 22 } },
      ...(process.env.OBSERVED === "true" ? { metrics } : {}),
      logger: { debug() {}, error() {}, warn: (message) => warnings.push(message) },
    });
    const get = (id, load) => cache.enable(() => cache.getOrLoad(load, {
      keyType: "user_id", useCase: "GetText", key: id, serializer: new StringSerializer(),
      defaultConfig: { ttlSec: { remote: 60 } },
    }));
    await get("warm", async () => "same ".repeat(1_000));
    await cache.drain();
    const text = "some text ".repeat(2 ** 24 / 10);
    const used = Number(/VmSize:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
    execFileSync("prlimit", ["--pid", String(process.pid), "--as=" + (used + 2 ** 27) + ":"]);
    await get("1", async () => text);
    await cache.drain();
    execFileSync("prlimit", ["--pid", String(process.pid), "--as=unlimited:"]);
    const again = await get("1", async () => "not stored");
    const { compression, errors, writes } = cache.stats().useCases.GetText;
    console.log(JSON.stringify({ told, warnings, compression, errors, writes, same: again === text }));
    await cache.close();
    await client.close?.();
    await redis.close();
  })();
`;

const canStarve = spawnSync("prlimit", ["--version"]).status === 0;

describe.skipIf(!canStarve).each(CLIENT_RIGS)("$client: without the memory to compress", (kind) => {
  const rig = useRig(kind);

  it.each([true, false])(
    "a payload is written as it is, with an error and a warning (observed: %s)",
    async (observed) => {
      const { stdout, stderr } = await runScript(STARVED, {
        URL: rig.server.url,
        KIND: kind.client,
        OBSERVED: String(observed),
      });
      expect(stderr).toBe("");
      const { told, warnings, ...rest } = JSON.parse(stdout);
      expect(rest).toEqual({
        compression: { compressed: 1 },
        errors: { compression: 1 },
        writes: { ok: 2, fenced: 0, failed: 0, skipped: 0 },
        same: true,
      });
      expect(warnings).toEqual([expect.stringContaining("could not be compressed")]);
      expect(told.slice(2)).toEqual(
        observed
          ? [
              ["error", "remote", "compression"],
              ["stored", "remote", 16_777_210],
            ]
          : [],
      );
    },
  );
});
