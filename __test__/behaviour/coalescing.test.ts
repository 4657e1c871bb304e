import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { deferred } from "../support/deferred";
import { turns, until } from "../support/real-time";
import { CLIENT_RIGS, DRIVEN_RIGS, LOCAL_ONLY, loader, REMOTE_ONLY, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const LAYERS: readonly [name: string, config: DialCacheKeyConfig][] = [
  ["local", LOCAL_ONLY],
  ["Redis", REMOTE_ONLY],
  ["local and Redis", DialCacheKeyConfig.enabled(60)],
  ["request-local, local and Redis", new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true })],
];

describe.each(
  CLIENT_RIGS.flatMap((kind) => [
    { ...kind, observed: true, metrics: "with metrics" },
    { ...kind, observed: false, metrics: "without metrics" },
  ]),
)("$client, $metrics", ({ observed, ...kind }) => {
  const rig = useRig(kind);
  const healthy = { readTimeoutMs: 10_000, observed };

  it.each(LAYERS)("100 callers on a cold key, %s: one source call, one value for all", async (_layers, config) => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => ({ name: "source" }));
    const load = world.load("GetUser", source, { defaultConfig: config });
    const results = await Promise.all(Array.from({ length: 100 }, () => load("1")));
    expect(source).toHaveBeenCalledTimes(1);
    expect(new Set(results).size).toBe(1);
    expect(world.stats("GetUser").coalesced.process).toBe(99);
    const labels = { scope: "process", useCase: "GetUser", keyType: "user_id" };
    expect(world.metrics.count("coalesced", labels)).toBe(observed ? 99 : 0);
  });

  it("100 callers on a Redis hit: one read, one value for all", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source);
    await world.plant("GetUser", "1", '{"name":"redis"}');
    const results = await Promise.all(Array.from({ length: 100 }, () => load("1")));
    expect(await world.calls("get")).toBe(1);
    expect(new Set(results).size).toBe(1);
    expect(results[0]).toEqual({ name: "redis" });
    expect(source).not.toHaveBeenCalled();
  });

  it("different keys do not wait for each other", async () => {
    const world = await rig.world(healthy);
    const gate = deferred<string>();
    const load = world.load("GetUser", (id) => (id === "slow" ? gate.promise : Promise.resolve(id)));
    const slow = load("slow");
    expect(await load("fast")).toBe("fast");
    gate.resolve("slow");
    expect(await slow).toBe("slow");
  });

  it.each(LAYERS)("coalesce: false, %s: every caller does its own work", async (_layers, config) => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, {
      defaultConfig: new DialCacheKeyConfig({ ...config, coalesce: false }),
    });
    const gets = config.ttlSec?.remote === undefined ? 0 : 10;
    await Promise.all(Array.from({ length: 10 }, () => load("1")));
    await world.written();
    expect(source).toHaveBeenCalledTimes(10);
    expect(await world.calls("get")).toBe(gets);
    expect(await world.calls("set")).toBe(gets);
    expect(world.stats("GetUser").coalesced).toEqual({ process: 0, request_local: 0 });
    expect(world.flights()).toEqual({ activeLeaders: 0, activeFollowers: 0, oldestLeaderAgeMs: null });
  });

  it("coalesce: false within one request: request-local callers do their own work too", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = world.cache.cached(source, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => "1",
      defaultConfig: new DialCacheKeyConfig({ requestLocal: true, coalesce: false }),
    });
    await world.cache.enable(async () => {
      await Promise.all([load(), load(), load()]);
      expect(source).toHaveBeenCalledTimes(3);
      await load();
      expect(source).toHaveBeenCalledTimes(3);
    });
  });

  describe("Two instances, two namespaces or two use cases never share", () => {
    it("a flight of two instances with the same namespace and client", async () => {
      const world = await rig.world(healthy);
      const gate = deferred<string>();
      const source = vi.fn(() => gate.promise);
      const first = world.load("GetUser", source);
      const second = loader(world.another(), "GetUser", source);
      const results = [first("1"), second("1")];
      await until("both sources run", () => source.mock.calls.length === 2);
      gate.resolve("source");
      expect(await Promise.all(results)).toEqual(["source", "source"]);
    });

    it("local values of two instances", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => "source");
      const options = { defaultConfig: LOCAL_ONLY };
      await world.load("GetUser", source, options)("1");
      await loader(world.another(), "GetUser", source, options)("1");
      expect(source).toHaveBeenCalledTimes(2);
    });

    it("anything of two namespaces, in Redis neither", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => "source");
      await world.load("GetUser", source)("1");
      await world.written();
      const other = world.another({ namespace: `${world.namespace}-other` });
      await loader(other, "GetUser", source)("1");
      expect(source).toHaveBeenCalledTimes(2);
    });

    it("anything of two use cases or two key types", async () => {
      const world = await rig.world(healthy);
      const gate = deferred<string>();
      const source = vi.fn(() => gate.promise);
      const loads = [
        world.load("GetUser", source, { defaultConfig: DialCacheKeyConfig.enabled(60) }),
        world.load("GetUserAgain", source, { defaultConfig: DialCacheKeyConfig.enabled(60) }),
        world.load("GetUserByName", source, {
          defaultConfig: DialCacheKeyConfig.enabled(60),
          keyType: "user_name",
        }),
      ];
      const results = loads.map((load) => load("1"));
      await until("all sources run", () => source.mock.calls.length === 3);
      gate.resolve("source");
      await Promise.all(results);
      expect(world.cache.stats().local.entries).toBe(3);
    });

    it("two instances do share what one of them wrote to Redis", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => "source");
      await world.load("GetUser", source)("1");
      await world.written();
      expect(await loader(world.another(), "GetUser", source)("1")).toBe("source");
      expect(source).toHaveBeenCalledTimes(1);
    });
  });

  it("The lookup and joining a flight happen synchronously in the call", async () => {
    const world = await rig.world(healthy);
    const gate = deferred<string>();
    const load = world.cache.cached(() => gate.promise, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => "1",
      defaultConfig: LOCAL_ONLY,
    });
    await world.cache.enable(async () => {
      const leader = load();
      expect(world.flights()).toMatchObject({ activeLeaders: 1, activeFollowers: 0 });
      const follower = load();
      expect(world.flights()).toMatchObject({ activeLeaders: 1, activeFollowers: 1 });
      gate.resolve("source");
      await Promise.all([leader, follower]);
      const before = world.stats("GetUser").hits.local;
      const hit = load();
      expect(world.stats("GetUser").hits.local).toBe(before + 1);
      await hit;
    });
  });

  it("a provider that answers asynchronously delays the flight, not its sharing", async () => {
    const world = await rig.world({ ...healthy, config: { cacheConfigProvider: async () => null } });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source);
    await Promise.all(Array.from({ length: 20 }, () => load("1")));
    expect(source).toHaveBeenCalledTimes(1);
  });
});

describe.each(DRIVEN_RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  it("getCoalescingState is exact", async () => {
    const world = await rig.world({ readTimeoutMs: 10_000 });
    const gates = new Map([
      ["1", deferred<string>()],
      ["2", deferred<string>()],
    ]);
    const load = world.load("GetUser", (id) => gates.get(id)?.promise ?? "", { defaultConfig: LOCAL_ONLY });
    const idle = { activeLeaders: 0, activeFollowers: 0, oldestLeaderAgeMs: null };
    expect(world.flights()).toEqual(idle);
    const first = load("1");
    await world.lapse(30);
    const others = [load("2"), load("2"), load("2"), load("1")];
    await turns(2);
    await world.lapse(12);
    expect(world.flights()).toEqual({ activeLeaders: 2, activeFollowers: 3, oldestLeaderAgeMs: 42 });
    gates.get("1")?.resolve("one");
    await first;
    expect(world.flights()).toEqual({ activeLeaders: 1, activeFollowers: 2, oldestLeaderAgeMs: 12 });
    gates.get("2")?.reject(new Error("down"));
    await Promise.allSettled(others);
    expect(world.flights()).toEqual(idle);
  });

  it("100 callers on an expired key: one source call", async () => {
    const world = await rig.world({ readTimeoutMs: 10_000 });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: LOCAL_ONLY });
    await load("1");
    await world.lapse(60_000);
    await Promise.all(Array.from({ length: 100 }, () => load("1")));
    expect(source).toHaveBeenCalledTimes(2);
  });
});

it("a cache without Redis coalesces too", async () => {
  const cache = new DialCache({ logger: null });
  const source = vi.fn(async () => "source");
  const load = loader(cache, "GetUser", source, { defaultConfig: LOCAL_ONLY });
  await Promise.all(Array.from({ length: 10 }, () => load("1")));
  expect(source).toHaveBeenCalledTimes(1);
});
