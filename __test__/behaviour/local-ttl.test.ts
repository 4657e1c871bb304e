import { DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { DRIVEN_RIGS, LOCAL_ONLY, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

describe.each(DRIVEN_RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);
  const healthy = { readTimeoutMs: 10_000 };

  it("is over at age >= TTL, and a read of an expired entry frees it", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => ({}));
    const load = world.load("GetUser", source, { defaultConfig: LOCAL_ONLY });
    const first = await load("1");
    await world.lapse(59_999);
    expect(await load("1")).toBe(first);
    await world.lapse(1);
    expect(await load("1")).not.toBe(first);
    expect(source).toHaveBeenCalledTimes(2);
    expect(world.cache.stats().local.entries).toBe(1);
  });

  it("an expired entry is freed even when its source fails", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn<() => Promise<string>>().mockResolvedValueOnce("source").mockRejectedValue(new Error("down"));
    const load = world.load("GetUser", source, { defaultConfig: LOCAL_ONLY });
    await load("1");
    expect(world.cache.stats().local.entries).toBe(1);
    await world.lapse(60_000);
    await expect(load("1")).rejects.toThrow("down");
    expect(world.cache.stats().local.entries).toBe(0);
  });

  it("is not prolonged by hits", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: LOCAL_ONLY });
    await load("1");
    for (let step = 0; step < 6; step += 1) {
      await world.lapse(10_000);
      await load("1");
    }
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("is fixed when the value is stored: a later policy does not change it", async () => {
    let ttl = 60;
    const world = await rig.world({
      ...healthy,
      config: { cacheConfigProvider: () => new DialCacheKeyConfig({ ttlSec: { local: ttl } }) },
    });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: new DialCacheKeyConfig({}) });
    await load("1");
    ttl = 1;
    await world.lapse(59_999);
    await load("1");
    expect(source).toHaveBeenCalledTimes(1);
    ttl = 3_600;
    await world.lapse(1);
    await load("1");
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("starts when the value is stored, not when the call began", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => {
      await world.lapse(10_000);
      return "source";
    });
    const load = world.load("GetUser", source, { defaultConfig: LOCAL_ONLY });
    await load("1");
    await world.lapse(59_999);
    await load("1");
    expect(source).toHaveBeenCalledTimes(1);
  });

  it("a ramped-out read skips the layer and deletes nothing", async () => {
    let ramp = 100;
    const world = await rig.world({
      ...healthy,
      config: { cacheConfigProvider: () => new DialCacheKeyConfig({ ramp: { local: ramp } }) },
    });
    const source = vi.fn(async () => ({}));
    const load = world.load("GetUser", source, { defaultConfig: LOCAL_ONLY });
    const first = await load("1");
    ramp = 0;
    expect(await load("1")).not.toBe(first);
    expect(world.cache.stats().local.entries).toBe(1);
    expect(world.metrics.count("disabled", { layer: "local", reason: "ramped_down" })).toBe(1);
    ramp = 100;
    expect(await load("1")).toBe(first);
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("365 days are 365 days", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, {
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 31_536_000 } }),
    });
    await load("1");
    await world.lapse(31_535_999_999);
    await load("1");
    expect(source).toHaveBeenCalledTimes(1);
    await world.lapse(1);
    await load("1");
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("a Redis hit starts a whole local TTL", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: DialCacheKeyConfig.enabled(60) });
    await world.plant("GetUser", "1", '"redis"');
    expect(await load("1")).toBe("redis");
    await world.lapse(59_999);
    expect(await load("1")).toBe("redis");
    expect(world.stats("GetUser").hits).toMatchObject({ local: 1, remote: 1 });
    await world.lapse(1);
    expect(await load("1")).toBe("redis");
    expect(world.stats("GetUser").hits).toMatchObject({ local: 1, remote: 2 });
    expect(source).not.toHaveBeenCalled();
  });

  it("entries stay within localMaxSize, over all use cases", async () => {
    const world = await rig.world({ ...healthy, config: { localMaxSize: 10 } });
    const loads = ["A", "B", "C"].map((useCase) =>
      world.load(useCase, async (id) => id, { defaultConfig: LOCAL_ONLY }),
    );
    for (let id = 0; id < 50; id += 1) {
      for (const load of loads) {
        await load(String(id));
        expect(world.cache.stats().local.entries).toBeLessThanOrEqual(10);
      }
    }
    expect(world.cache.stats().local).toEqual({ entries: 10, maxEntries: 10 });
  });

  it.each([
    [undefined, 0],
    ["lru", 0],
    ["tinyLfu", 10],
  ] as const)("localPolicy %s: of ten popular entries, %i are left after a scan", async (localPolicy, left) => {
    const config = { localMaxSize: 10, ...(localPolicy === undefined ? {} : { localPolicy }) };
    const world = await rig.world({ ...healthy, config });
    const load = world.load("GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY });
    const popular = Array.from({ length: 10 }, (_, id) => `popular ${id}`);
    for (let round = 0; round < 20; round += 1) {
      for (const id of popular) await load(id);
    }
    for (let id = 0; id < 100; id += 1) await load(`scanned ${id}`);
    const before = world.stats("GetUser").hits.local;
    await Promise.all(popular.map((id) => load(id)));
    expect(world.stats("GetUser").hits.local - before).toBe(left);
  });

  it("localMaxSize 0 turns the local layer off, but not the sharing of its loads", async () => {
    const world = await rig.world({ ...healthy, config: { localMaxSize: 0 } });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: LOCAL_ONLY });
    await load("1");
    await load("1");
    expect(source).toHaveBeenCalledTimes(2);
    expect(world.cache.stats().local.entries).toBe(0);
    expect(await Promise.all([load("1"), load("1")])).toEqual(["source", "source"]);
    expect(source).toHaveBeenCalledTimes(3);
  });
});
