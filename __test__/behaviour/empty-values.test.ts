import { DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { CLIENT_RIGS, LOCAL_ONLY, REMOTE_ONLY, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const VALUES: readonly [name: string, value: unknown, throughJson: unknown][] = [
  ["null", null, null],
  ["undefined", undefined, undefined],
  ["0", 0, 0],
  ["the empty string", "", ""],
  ["false", false, false],
  ["NaN", Number.NaN, null],
  ["the text JSON undefined is stored as", "__dialcache_json_undefined_v1__", "__dialcache_json_undefined_v1__"],
];

describe.each(
  CLIENT_RIGS.flatMap((kind) => [
    { ...kind, observed: true, metrics: "with metrics" },
    { ...kind, observed: false, metrics: "without metrics" },
  ]),
)("$client, $metrics", ({ observed, ...kind }) => {
  const rig = useRig(kind);
  const healthy = { readTimeoutMs: 10_000, observed };

  describe.each(VALUES)("%s is a value like any other", (_name, value, throughJson) => {
    it("in the local layer: one load", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => value);
      const load = world.load("GetUser", source, { defaultConfig: LOCAL_ONLY });
      expect(await load("1")).toBe(value);
      expect(await load("1")).toBe(value);
      expect(await load("1")).toBe(value);
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.stats("GetUser").hits.local).toBe(2);
    });

    it("in Redis: one load", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => value);
      const load = world.load("GetUser", source, { defaultConfig: REMOTE_ONLY });
      expect(await load("1")).toBe(value);
      await world.written();
      expect(await load("1")).toBe(throughJson);
      expect(await load("1")).toBe(throughJson);
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.stats("GetUser").hits.remote).toBe(2);
    });

    it("in the request-local layer: one load", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => value);
      const load = world.cache.cached(source as () => Promise<null>, {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        defaultConfig: new DialCacheKeyConfig({ requestLocal: true }),
      });
      await world.cache.enable(async () => {
        expect(await load()).toBe(value);
        expect(await load()).toBe(value);
        expect(await load()).toBe(value);
      });
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.stats("GetUser").hits.request_local).toBe(2);
    });

    it("to followers: one load", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => value);
      const load = world.load("GetUser", source);
      const results = await Promise.all(Array.from({ length: 10 }, () => load("1")));
      expect(results).toEqual(Array(10).fill(value));
      expect(source).toHaveBeenCalledTimes(1);
    });

    it("from Redis into the local layer", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => value);
      const writer = world.load("GetUser", source);
      await writer("1");
      await world.written();
      const second = world.another();
      const load = second.cached(source as () => Promise<null>, {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        defaultConfig: DialCacheKeyConfig.enabled(60),
      });
      expect(await second.enable(() => load())).toBe(throughJson);
      expect(await second.enable(() => load())).toBe(throughJson);
      expect(source).toHaveBeenCalledTimes(1);
      expect(second.stats().local.entries).toBe(1);
    });
  });
});
