import { DialCacheKeyConfig, FallbackTimeoutError } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { deferred, never } from "../support/deferred";
import { turns, until } from "../support/real-time";
import { DRIVEN_RIGS, RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const REQUEST_LOCAL_AND_REMOTE = new DialCacheKeyConfig({ ttlSec: { remote: 60 }, requestLocal: true });

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  describe("Same-key process and request-local followers share one read deadline and one fallback", () => {
    it("process followers", async () => {
      const world = await rig.world();
      const value = { name: "source" };
      const source = vi.fn(async () => value);
      const load = world.load("GetUser", source);
      await world.server.freeze();
      const results = Array.from({ length: 20 }, () => load("1"));
      await world.readStarted("GetUser");
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
      await world.lapse();
      for (const result of await Promise.all(results)) {
        expect(result).toBe(value);
      }
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.stats("GetUser")).toMatchObject({ readDeadlinesArmed: 1, readTimeouts: 1, sourceCalls: 1 });
      expect(world.stats("GetUser").coalesced).toEqual({ process: 19, request_local: 0 });
      expect(world.metrics.count("coalesced", { scope: "process" })).toBe(19);
      expect(world.metrics.count("error")).toBe(1);
      expect(world.log.warnings).toHaveLength(1);
    });

    it("request-local followers", async () => {
      const world = await rig.world();
      const value = { name: "source" };
      const source = vi.fn(async () => value);
      const load = world.cache.cached(source, {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        defaultConfig: REQUEST_LOCAL_AND_REMOTE,
      });
      await world.server.freeze();
      const results = world.cache.enable(() => Promise.all(Array.from({ length: 20 }, () => load())));
      await world.readStarted("GetUser");
      await world.lapse();
      for (const result of await results) {
        expect(result).toBe(value);
      }
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.stats("GetUser")).toMatchObject({ readDeadlinesArmed: 1, readTimeouts: 1, sourceCalls: 1 });
      expect(world.stats("GetUser").coalesced).toEqual({ process: 0, request_local: 19 });
      expect(world.metrics.count("coalesced", { scope: "request_local" })).toBe(19);
      expect(world.log.warnings).toHaveLength(1);
    });

    it("request scopes that meet in one process flight", async () => {
      const world = await rig.world();
      const source = vi.fn(async () => "source");
      const load = world.cache.cached(source, {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        defaultConfig: REQUEST_LOCAL_AND_REMOTE,
      });
      await world.server.freeze();
      const requests = Array.from({ length: 5 }, () =>
        world.cache.enable(() => Promise.all([load(), load(), load(), load()])),
      );
      await world.readStarted("GetUser");
      await world.lapse();
      expect((await Promise.all(requests)).flat()).toEqual(Array(20).fill("source"));
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.stats("GetUser").coalesced).toEqual({ process: 4, request_local: 15 });
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
      expect(world.log.warnings).toHaveLength(1);
    });

    it("a failing fallback after a timeout reaches every follower by identity", async () => {
      const world = await rig.world();
      const failure = new Error("source down");
      const load = world.load("GetUser", () => Promise.reject(failure));
      await world.server.freeze();
      const results = Promise.allSettled(Array.from({ length: 10 }, () => load("1")));
      await world.readStarted("GetUser");
      await world.lapse();
      for (const result of await results) {
        expect(result.status === "rejected" && result.reason).toBe(failure);
      }
    });
  });

  it("A follower that joins during the fallback gets its result", async () => {
    const world = await rig.world();
    const gate = deferred<string>();
    const source = vi.fn(() => gate.promise);
    const load = world.load("GetUser", source);
    await world.server.freeze();
    const leader = load("1");
    await world.readStarted("GetUser");
    await world.lapse();
    await until("the source starts", () => source.mock.calls.length === 1);
    const follower = load("1");
    await until("it joined", () => world.flights().activeFollowers === 1);
    gate.resolve("source");
    expect(await Promise.all([leader, follower])).toEqual(["source", "source"]);
    expect(world.stats("GetUser")).toMatchObject({ readDeadlinesArmed: 1, sourceCalls: 1 });
  });
});

describe.each(DRIVEN_RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  describe("A follower joining late receives only the leader's remaining read/fallback lifetime", () => {
    it("read", async () => {
      const world = await rig.world({ readTimeoutMs: 100 });
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source);
      await world.server.freeze();
      const leader = load("1");
      await world.readStarted("GetUser");
      await world.lapse(99);
      const follower = load("1");
      await turns(3);
      expect(source).not.toHaveBeenCalled();
      await world.lapse(1);
      expect(await Promise.all([leader, follower])).toEqual(["source", "source"]);
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
    });

    it("fallback", async () => {
      const world = await rig.world({ readTimeoutMs: 100 });
      const load = world.load("GetUser", () => never<string>(), { fallbackTimeoutMs: 200 });
      await world.server.freeze();
      const settled: string[] = [];
      const watch = (name: string, result: Promise<string>) =>
        result.catch((error: unknown) => {
          settled.push(name);
          return error;
        });
      const leader = watch("leader", load("1"));
      await world.readStarted("GetUser");
      await world.lapse(100);
      await until("the source starts", () => world.stats("GetUser").sourceCalls === 1);
      await world.lapse(199);
      const follower = watch("follower", load("1"));
      await turns(3);
      expect(settled).toEqual([]);
      await world.lapse(1);
      const [first, second] = await Promise.all([leader, follower]);
      expect(first).toBeInstanceOf(FallbackTimeoutError);
      expect(first).toMatchObject({ useCase: "GetUser", timeoutMs: 200, status: 504 });
      expect(second).toBe(first);
      expect(world.flights().activeLeaders).toBe(0);
      expect(world.cache.stats().timers.armed).toBe(0);
      expect(world.stats("GetUser").fallbackTimeouts).toBe(1);
    });

    it("the fallback's own budget starts with the fallback, not with the read", async () => {
      const world = await rig.world({ readTimeoutMs: 100 });
      const gate = deferred<string>();
      const load = world.load("GetUser", () => gate.promise, { fallbackTimeoutMs: 60 });
      await world.server.freeze();
      const result = load("1");
      await world.readStarted("GetUser");
      await world.lapse(100);
      await until("the source starts", () => world.stats("GetUser").sourceCalls === 1);
      // 159 ms after the call: past the fallback's 60, had it started with the read.
      await world.lapse(59);
      gate.resolve("source");
      expect(await result).toBe("source");
    });
  });
});
