import { DialCache, type DialCacheConfig, RedisReadTimeoutError } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { ScriptedClient } from "../support/clients";
import { errorOf } from "../support/recorders";
import { REMOTE_ONLY, RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const WRONG: readonly [name: string, value: unknown][] = [
  ["null", null],
  ["zero", 0],
  ["negative zero", -0],
  ["negative", -1],
  ["fractional", 1.5],
  ["a numeric string", "50"],
  ["an empty string", ""],
  ["a boolean", true],
  ["a bigint", 50n],
  ["an object", { valueOf: () => 50 }],
  ["NaN", Number.NaN],
  ["infinite", Number.POSITIVE_INFINITY],
  ["over the limit", 2_147_483_648],
  ["unsafe", Number.MAX_SAFE_INTEGER + 1],
];

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  describe("Instance default and per-use-case override resolve correctly", () => {
    it.each([
      ["the instance's default", undefined, 45],
      ["a shorter override", 20, 20],
      ["a longer override", 60, 60],
    ])("%s", async (_case, redisReadTimeoutMs, effective) => {
      const world = await rig.world({ readTimeoutMs: 45 });
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source, redisReadTimeoutMs === undefined ? {} : { redisReadTimeoutMs });
      await world.server.freeze();
      const result = load("1");
      await world.readStarted("GetUser");
      if (rig.driven) {
        await world.lapse(effective - 1);
        expect(source).not.toHaveBeenCalled();
        await world.lapse(1);
      }
      expect(await result).toBe("source");
      const error = errorOf(world.log.warnings[0]);
      expect(error).toBeInstanceOf(RedisReadTimeoutError);
      expect(error).toMatchObject({ useCase: "GetUser", timeoutMs: effective });
    });
  });
});

describe("Instance default and per-use-case override resolve correctly", () => {
  it("is read once, at registration", async () => {
    const client = new ScriptedClient();
    client.autoRead = () => null;
    client.autoWrite = () => true;
    const cache = new DialCache({ redis: { client, readTimeoutMs: 200 }, logger: null });
    const options = {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => "1",
      defaultConfig: REMOTE_ONLY,
      redisReadTimeoutMs: 70,
    };
    const load = cache.cached(async () => "source", options);
    options.redisReadTimeoutMs = 90;
    await cache.enable(() => load());
    expect(client.reads[0]?.context?.timeoutMs).toBe(70);
  });

  it("belongs to each use case alone and is part of no key", async () => {
    const client = new ScriptedClient();
    client.autoRead = () => null;
    client.autoWrite = () => true;
    const cache = new DialCache({ redis: { client, readTimeoutMs: 200 }, logger: null });
    for (const [useCase, redisReadTimeoutMs] of [
      ["Short", 10],
      ["Long", 1_000],
      ["Default", undefined],
    ] as const) {
      const load = cache.cached(async () => "source", {
        keyType: "user_id",
        useCase,
        cacheKey: () => "1",
        defaultConfig: REMOTE_ONLY,
        ...(redisReadTimeoutMs === undefined ? {} : { redisReadTimeoutMs }),
      });
      await cache.enable(() => load());
    }
    expect(client.reads.map(({ context }) => context?.timeoutMs)).toEqual([10, 1_000, 200]);
    expect(client.reads.map(({ request }) => request.valueKey)).toEqual([
      "urn:user_id:1#Short:dialcache-frame-v1",
      "urn:user_id:1#Long:dialcache-frame-v1",
      "urn:user_id:1#Default:dialcache-frame-v1",
    ]);
  });

  it("applies to getOrLoad on each call", async () => {
    const client = new ScriptedClient();
    client.autoRead = () => null;
    client.autoWrite = () => true;
    const cache = new DialCache({ redis: { client, readTimeoutMs: 200 }, logger: null });
    const options = { keyType: "user_id", useCase: "Inline", key: "1", defaultConfig: REMOTE_ONLY };
    await cache.enable(() => cache.getOrLoad(async () => "source", { ...options, redisReadTimeoutMs: 30 }));
    await cache.drain({ timeoutMs: 1_000 });
    await cache.enable(() => cache.getOrLoad(async () => "source", options));
    expect(client.reads.map(({ context }) => context?.timeoutMs)).toEqual([30, 200]);
  });
});

describe("Missing, zero, negative, fractional, nonnumeric, unsafe, and over-limit values fail before use-case reservation", () => {
  const client = new ScriptedClient();
  const instance = (readTimeoutMs: unknown) => () =>
    new DialCache({ redis: { client, readTimeoutMs } } as DialCacheConfig);

  it.each([["missing", undefined], ...WRONG])("instance default: %s", (_name, value) => {
    expect(instance(value)).toThrow(/readTimeoutMs/);
  });

  it.each([1, 50, 2_147_483_647])("instance default: %d is fine", (value) => {
    expect(instance(value)).not.toThrow();
  });

  it("instance default: absent altogether", () => {
    expect(() => new DialCache({ redis: { client } } as unknown as DialCacheConfig)).toThrow(/readTimeoutMs/);
    expect(() => new DialCache({ redis: {} } as unknown as DialCacheConfig)).toThrow(/readTimeoutMs/);
  });

  it.each(WRONG)("override of cached(): %s, and a corrected registration can retry", async (_name, value) => {
    const cache = new DialCache({ redis: { client, readTimeoutMs: 50 }, logger: null });
    const register = (redisReadTimeoutMs: unknown) =>
      cache.cached(async () => "source", {
        keyType: "user_id",
        useCase: "Retried",
        cacheKey: () => "1",
        redisReadTimeoutMs: redisReadTimeoutMs as number,
      });
    expect(() => register(value)).toThrow(/redisReadTimeoutMs/);
    const load = register(20);
    expect(await load()).toBe("source");
  });

  it.each(WRONG)("override of getOrLoad(): %s throws synchronously, before the loader runs", (_name, value) => {
    const cache = new DialCache({ redis: { client, readTimeoutMs: 50 }, logger: null });
    const load = vi.fn(async () => "source");
    expect(() =>
      cache.getOrLoad(load, {
        keyType: "user_id",
        useCase: "Inline",
        key: "1",
        redisReadTimeoutMs: value as number,
      }),
    ).toThrow(/redisReadTimeoutMs/);
    expect(load).not.toHaveBeenCalled();
  });
});
