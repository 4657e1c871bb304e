import { DialCache, DialCacheKeyConfig, RedisClient } from "dialcache-native";
import { installClock, manualClock } from "dialcache-native/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { deferred } from "../support/deferred";
import { until } from "../support/real-time";
import { freePort } from "../support/redis-server";
import { LOCAL_ONLY, loader, REMOTE_ONLY, REQUEST_LOCAL_ONLY, RIGS, useCaseStats, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const OFF: readonly [name: string, config: DialCacheKeyConfig][] = [
  ["no layer at all", new DialCacheKeyConfig({})],
  ["disabled()", DialCacheKeyConfig.disabled()],
  ["a remote ramp of 0", new DialCacheKeyConfig({ ttlSec: { remote: 60 }, ramp: { remote: 0 } })],
  ["a remote layer without a TTL", LOCAL_ONLY],
  ["request-local only", REQUEST_LOCAL_ONLY],
];

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  describe("Local hits, disabled context, and disabled/ramped-out remote layers allocate no read timer", () => {
    it("local hits", async () => {
      const world = await rig.world({ readTimeoutMs: 10_000 });
      const load = world.load("GetUser", async () => "source", { defaultConfig: DialCacheKeyConfig.enabled(60) });
      await load("1");
      await world.written();
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
      for (let call = 0; call < 10; call += 1) {
        const result = load("1");
        expect(world.cache.stats().timers.armed).toBe(0);
        expect(await result).toBe("source");
      }
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
      expect(world.stats("GetUser").hits.local).toBe(10);
    });

    it("request-local hits", async () => {
      const world = await rig.world({ readTimeoutMs: 10_000 });
      const load = world.cache.cached(async () => "source", {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 }, requestLocal: true }),
      });
      await world.cache.enable(async () => {
        await load();
        await load();
        await load();
      });
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
    });

    it("outside enable() and inside disable()", async () => {
      const world = await rig.world();
      const gate = deferred<string>();
      const load = world.cache.cached(() => gate.promise, {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        defaultConfig: REMOTE_ONLY,
      });
      const outside = load();
      const inside = world.cache.enable(() => world.cache.disable(() => load()));
      expect(world.cache.stats().timers.armed).toBe(0);
      gate.resolve("source");
      expect(await Promise.all([outside, inside])).toEqual(["source", "source"]);
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(0);
      expect(await world.calls("get")).toBe(0);
    });

    it.each(OFF)("%s", async (_case, defaultConfig) => {
      const world = await rig.world();
      const gate = deferred<string>();
      const source = vi.fn(() => gate.promise);
      const load = world.load("GetUser", source, { defaultConfig, fallbackTimeoutMs: null });
      const result = load("1");
      await until("the source starts", () => source.mock.calls.length === 1);
      expect(world.cache.stats().timers.armed).toBe(0);
      gate.resolve("source");
      expect(await result).toBe("source");
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(0);
      expect(await world.calls("get")).toBe(0);
      expect(await world.calls("set")).toBe(0);
    });

    it("a key outside a partial ramp, while one inside has its timer", async () => {
      const world = await rig.world({ readTimeoutMs: 10_000 });
      const load = world.load("GetUser", async () => "source", {
        defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 }, ramp: { remote: 30 } }),
      });
      const ids = Array.from({ length: 200 }, (_, index) => String(index));
      await Promise.all(ids.map((id) => load(id)));
      const { readDeadlinesArmed } = world.stats("GetUser");
      expect(readDeadlinesArmed).toBeGreaterThan(0);
      expect(readDeadlinesArmed).toBeLessThan(ids.length);
      expect(await world.calls("get")).toBe(readDeadlinesArmed);
      expect(world.metrics.count("disabled", { layer: "remote", reason: "ramped_down" })).toBe(
        ids.length - readDeadlinesArmed,
      );
    });

    it("a remote layer turned off by the provider at run time", async () => {
      let off = false;
      const world = await rig.world({
        readTimeoutMs: 10_000,
        config: { cacheConfigProvider: () => (off ? DialCacheKeyConfig.disabled() : null) },
      });
      const load = world.load("GetUser", async () => "source");
      await load("1");
      off = true;
      await load("1");
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
    });

    it("a cache without Redis", async () => {
      const world = await rig.world();
      // `another` passes undefined through: what an absent option is.
      const cache = world.another({ redis: undefined as never });
      const load = cache.cached(async () => "source", {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        defaultConfig: REMOTE_ONLY,
      });
      expect(await cache.enable(() => load())).toBe("source");
      expect(useCaseStats(cache, "GetUser").readDeadlinesArmed).toBe(0);
    });

    it("followers", async () => {
      const world = await rig.world({ readTimeoutMs: 10_000 });
      const load = world.load("GetUser", async () => "source", { fallbackTimeoutMs: null });
      const results = Array.from({ length: 50 }, () => load("1"));
      await world.readStarted("GetUser");
      expect(world.cache.stats().timers.armed).toBeLessThanOrEqual(1);
      await Promise.all(results);
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
    });
  });
});

it("a read that the native client refuses at once arms none either", async () => {
  const client = new RedisClient({ url: `redis://127.0.0.1:${await freePort()}` });
  onTestFinished(() => client.close());
  await until("the first attempt has failed", () => client.status === "reconnecting");
  const cache = new DialCache({ redis: { client, readTimeoutMs: 10_000 }, logger: null });
  const load = loader(cache, "GetUser", async () => "source", { fallbackTimeoutMs: null });
  const result = load("1");
  expect(cache.stats().timers.armed).toBe(0);
  expect(await result).toBe("source");
  expect(useCaseStats(cache, "GetUser")).toMatchObject({
    requests: { remote: 1 },
    errors: { cache_read: 1 },
    readDeadlinesArmed: 0,
    readTimeouts: 0,
    writes: { ok: 0, failed: 0, skipped: 1 },
  });
});

describe("by the installed clock's own account", () => {
  it("one timer is set for a reading leader and taken back, none for a local hit", async () => {
    const { ScriptedClient } = await import("../support/clients");
    const clock = manualClock();
    const set = vi.spyOn(clock, "setTimeout");
    const cleared = vi.spyOn(clock, "clearTimeout");
    onTestFinished(installClock(clock));
    const client = new ScriptedClient();
    client.autoRead = () => '"redis"';
    const cache = new DialCache({ redis: { client, readTimeoutMs: 50 }, logger: null });
    const load = cache.cached(async () => "source", {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => "1",
      defaultConfig: DialCacheKeyConfig.enabled(60),
    });
    expect(await cache.enable(() => load())).toBe("redis");
    expect(set).toHaveBeenCalledTimes(1);
    expect(set.mock.calls[0]?.[1]).toBe(50);
    expect(cleared).toHaveBeenCalledTimes(1);
    expect(await cache.enable(() => load())).toBe("redis");
    expect(await load()).toBe("source");
    expect(set).toHaveBeenCalledTimes(1);
  });
});
