import { DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { deferred } from "../support/deferred";
import { turns } from "../support/real-time";
import { CLIENT_RIGS, REQUEST_LOCAL_ONLY, useRig, type World } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

function memoised<Value>(world: World, source: (id: string) => Promise<Value>, config = REQUEST_LOCAL_ONLY) {
  return world.cache.cached(source as (id: string) => Promise<null>, {
    keyType: "user_id",
    useCase: "GetUser",
    cacheKey: (id) => id,
    defaultConfig: config,
  }) as (id: string) => Promise<Value>;
}

describe.each(CLIENT_RIGS)("$client", (kind) => {
  const rig = useRig(kind);
  const healthy = { readTimeoutMs: 10_000 };

  it("memoises for the outermost enable() scope, by reference", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async (id: string) => ({ id }));
    const load = memoised(world, source);
    await world.cache.enable(async () => {
      const first = await load("1");
      expect(await load("1")).toBe(first);
      expect(await load("2")).not.toBe(first);
      await world.cache.enable(async () => {
        expect(await load("1")).toBe(first);
      });
      await world.cache.enable(() => load("3"));
      expect(await load("1")).toBe(first);
    });
    expect(source.mock.calls).toEqual([["1"], ["2"], ["3"]]);
    expect(world.stats("GetUser").hits.request_local).toBe(3);
  });

  it("is gone with its scope", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = memoised(world, source);
    await world.cache.enable(() => load("1"));
    await world.cache.enable(() => load("1"));
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("keeps scopes that run side by side apart", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => ({}));
    const load = memoised(world, source, new DialCacheKeyConfig({ requestLocal: true, coalesce: false }));
    const scope = () =>
      world.cache.enable(async () => {
        const first = await load("1");
        await turns(2);
        expect(await load("1")).toBe(first);
        return first;
      });
    const values = await Promise.all([scope(), scope(), scope()]);
    expect(new Set(values).size).toBe(3);
    expect(source).toHaveBeenCalledTimes(3);
  });

  it("shares one flight within the scope, with followers counted as request-local", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => ({}));
    const load = memoised(world, source);
    const values = await world.cache.enable(() => Promise.all([load("1"), load("1"), load("1")]));
    expect(new Set(values).size).toBe(1);
    expect(source).toHaveBeenCalledTimes(1);
    expect(world.stats("GetUser").coalesced).toEqual({ process: 0, request_local: 2 });
    expect(world.metrics.count("coalesced", { scope: "request_local" })).toBe(2);
  });

  it("does not memoise a failure", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn().mockRejectedValueOnce(new Error("once")).mockResolvedValue("source");
    const load = memoised(world, source);
    await world.cache.enable(async () => {
      const failed = await Promise.allSettled([load("1"), load("1")]);
      expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
      expect(await load("1")).toBe("source");
      expect(await load("1")).toBe("source");
    });
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("memoises what the local layer or Redis answered", async () => {
    const world = await rig.world(healthy);
    const config = new DialCacheKeyConfig({ ttlSec: { remote: 60 }, requestLocal: true });
    const source = vi.fn(async () => "source");
    const load = memoised(world, source, config);
    await world.plant("GetUser", "1", '"redis"');
    await world.cache.enable(async () => {
      expect(await load("1")).toBe("redis");
      expect(await load("1")).toBe("redis");
    });
    expect(await world.calls("get")).toBe(1);
    expect(source).not.toHaveBeenCalled();
  });

  it("is left alone inside disable(), and goes on behind it", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => ({}));
    const load = memoised(world, source);
    await world.cache.enable(async () => {
      const first = await load("1");
      const plain = await world.cache.disable(() => load("1"));
      expect(plain).not.toBe(first);
      expect(await load("1")).toBe(first);
      await world.cache.disable(() =>
        world.cache.enable(async () => {
          expect(await load("1")).toBe(first);
        }),
      );
    });
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("work that outlives its scope is a plain call and refills nothing", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => ({}));
    const load = memoised(world, source);
    const resume = deferred();
    let detached: Promise<unknown[]> | undefined;
    await world.cache.enable(async () => {
      await load("1");
      detached = (async () => {
        await resume.promise;
        expect(world.cache.isEnabled()).toBe(false);
        return [await load("1"), await load("1")];
      })();
    });
    resume.resolve();
    const [first, second] = (await detached) ?? [];
    expect(first).not.toBe(second);
    expect(source).toHaveBeenCalledTimes(3);
  });

  it("a call that was made inside its scope and settles behind it is answered all the same", async () => {
    const world = await rig.world(healthy);
    const gate = deferred<string>();
    const load = memoised(world, () => gate.promise);
    let late: Promise<string> | undefined;
    await world.cache.enable(async () => {
      late = load("1");
    });
    gate.resolve("source");
    expect(await late).toBe("source");
    expect(world.flights().activeLeaders).toBe(0);
  });
});
