import { DialCacheKeyConfig, FallbackTimeoutError } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { deferred } from "../support/deferred";
import { turns, until } from "../support/real-time";
import { CLIENT_RIGS, DRIVEN_RIGS, JSON_SERIALIZER, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const THROWN: readonly [name: string, value: unknown][] = [
  ["an Error", new Error("source down")],
  ["a frozen Error", Object.freeze(new TypeError("frozen"))],
  ["an AbortError", new DOMException("aborted", "AbortError")],
  ["a plain object", { status: 503 }],
  ["a string", "down"],
  ["undefined", undefined],
  ["null", null],
  ["0", 0],
];

describe.each(CLIENT_RIGS)("$client", (kind) => {
  const rig = useRig(kind);
  const healthy = { readTimeoutMs: 10_000 };

  describe("What the source throws reaches the caller unchanged, and every follower gets the same one", () => {
    it.each(THROWN)("%s, rejected", async (_name, thrown) => {
      const world = await rig.world(healthy);
      const source = vi.fn(() => Promise.reject(thrown));
      const load = world.load("GetUser", source, { defaultConfig: DialCacheKeyConfig.enabled(60) });
      const results = await Promise.allSettled(Array.from({ length: 100 }, () => load("1")));
      expect(source).toHaveBeenCalledTimes(1);
      for (const result of results) {
        expect(result.status).toBe("rejected");
        expect(result.status === "rejected" && Object.is(result.reason, thrown)).toBe(true);
      }
      expect(world.metrics.count("error", { error: "fallback", inFallback: true })).toBe(1);
      expect(world.metrics.count("error")).toBe(1);
      expect(world.cache.stats().local.entries).toBe(0);
      expect(await world.calls("set")).toBe(0);
    });

    it.each(THROWN)("%s, thrown synchronously", async (_name, thrown) => {
      const world = await rig.world(healthy);
      const load = world.load("GetUser", () => {
        throw thrown;
      });
      const results = await Promise.allSettled([load("1"), load("1")]);
      for (const result of results) {
        expect(result.status === "rejected" && Object.is(result.reason, thrown)).toBe(true);
      }
    });

    it.each(THROWN)("%s, outside enable() rejects and never throws", async (_name, thrown) => {
      const world = await rig.world(healthy);
      const load = world.cache.cached(
        (): string => {
          throw thrown;
        },
        { keyType: "user_id", useCase: "GetUser", cacheKey: () => "1" },
      );
      const result = load();
      expect(result).toBeInstanceOf(Promise);
      const [outcome] = await Promise.allSettled([result]);
      expect(outcome?.status === "rejected" && Object.is(outcome.reason, thrown)).toBe(true);
    });
  });

  it.each([
    ["no layer", new DialCacheKeyConfig({})],
    ["request-local", new DialCacheKeyConfig({ requestLocal: true })],
    ["request-local without coalescing", new DialCacheKeyConfig({ requestLocal: true, coalesce: false })],
    ["Redis", new DialCacheKeyConfig({ ttlSec: { remote: 60 } })],
    ["every layer", new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true })],
  ])(
    "a failure in one request with %s: every caller gets the source's own error, and nothing else rejects",
    async (_layers, defaultConfig) => {
      const world = await rig.world(healthy);
      const failures: Error[] = [];
      const load = world.cache.cached(
        async (): Promise<unknown> => {
          const failure = new Error("source down");
          failures.push(failure);
          throw failure;
        },
        { keyType: "user_id", useCase: "GetUser", cacheKey: () => "1", defaultConfig, serializer: JSON_SERIALIZER },
      );
      const results = await world.cache.enable(() => Promise.allSettled([load(), load(), load()]));
      for (const result of results) {
        expect(failures).toContain(result.status === "rejected" && result.reason);
      }
      expect(world.metrics.count("error", { error: "fallback", inFallback: true })).toBe(failures.length);
    },
  );

  it("a failure is not remembered: the next call runs the source again", async () => {
    const world = await rig.world(healthy);
    const answers = [Promise.reject(new Error("once")), Promise.resolve("source")];
    const source = vi.fn(() => answers.shift() as Promise<string>);
    answers[0]?.catch(() => {});
    const load = world.load("GetUser", source, {
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true }),
    });
    await expect(load("1")).rejects.toThrow("once");
    expect(await load("1")).toBe("source");
    expect(await load("1")).toBe("source");
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("100 callers on a failing key: one source call at a time", async () => {
    const world = await rig.world(healthy);
    let running = 0;
    let most = 0;
    const source = vi.fn(async () => {
      running += 1;
      most = Math.max(most, running);
      await turns(2);
      running -= 1;
      throw new Error("down");
    });
    const load = world.load("GetUser", source);
    for (let round = 0; round < 3; round += 1) {
      await Promise.allSettled(Array.from({ length: 100 }, () => load("1")));
    }
    expect(source).toHaveBeenCalledTimes(3);
    expect(most).toBe(1);
  });

  it("a promise-like that rejects with a promise is not unwrapped twice", async () => {
    const world = await rig.world(healthy);
    const reason = Promise.resolve("inner");
    const load = world.load("GetUser", () => Promise.reject(reason));
    const [outcome] = await Promise.allSettled([load("1")]);
    expect(outcome?.status === "rejected" && outcome.reason).toBe(reason);
  });
});

describe.each(DRIVEN_RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  describe("fallbackTimeoutMs", () => {
    it("rejects leader and followers with one FallbackTimeoutError; the late result is published nowhere", async () => {
      const world = await rig.world({ readTimeoutMs: 10_000 });
      const gate = deferred<string>();
      const source = vi.fn(() => gate.promise);
      const load = world.load("GetUser", source, {
        defaultConfig: DialCacheKeyConfig.enabled(60),
        fallbackTimeoutMs: 200,
      });
      const results = Promise.allSettled([load("1"), load("1"), load("1")]);
      await until("the source starts", () => source.mock.calls.length === 1);
      await world.lapse(200);
      const reasons = (await results).map((result) => result.status === "rejected" && result.reason);
      expect(reasons[0]).toBeInstanceOf(FallbackTimeoutError);
      expect(reasons[0]).toMatchObject({ useCase: "GetUser", timeoutMs: 200, status: 504 });
      expect(new Set(reasons).size).toBe(1);
      expect(world.metrics.count("error", { error: "fallback", inFallback: true })).toBe(1);

      gate.resolve("late");
      await turns(5);
      expect(world.cache.stats().local.entries).toBe(0);
      expect(world.cache.stats().pendingWrites).toBe(0);
      expect(await world.calls("set")).toBe(0);
      expect(world.cache.stats().timers.armed).toBe(0);
    });

    it("a late rejection is swallowed", async () => {
      const world = await rig.world({ readTimeoutMs: 10_000 });
      const gate = deferred<string>();
      const source = vi.fn(() => gate.promise);
      const load = world.load("GetUser", source, { fallbackTimeoutMs: 200 });
      const outcome = expect(load("1")).rejects.toBeInstanceOf(FallbackTimeoutError);
      await until("the source starts", () => source.mock.calls.length === 1);
      await world.lapse(200);
      await outcome;
      gate.reject(new Error("late"));
      await turns(5);
      expect(world.metrics.count("error")).toBe(1);
    });

    it("defaults to 60 seconds", async () => {
      const world = await rig.world({ readTimeoutMs: 10_000 });
      const source = vi.fn(() => deferred<string>().promise);
      const load = world.load("GetUser", source);
      const outcome = expect(load("1")).rejects.toMatchObject({ timeoutMs: 60_000 });
      await until("the source starts", () => source.mock.calls.length === 1);
      await world.lapse(59_999);
      expect(world.flights().activeLeaders).toBe(1);
      await world.lapse(1);
      await outcome;
    });

    it("null turns it off", async () => {
      const world = await rig.world({ readTimeoutMs: 10_000 });
      const gate = deferred<string>();
      const source = vi.fn(() => gate.promise);
      const load = world.load("GetUser", source, { fallbackTimeoutMs: null });
      const result = load("1");
      await until("the source starts", () => source.mock.calls.length === 1);
      expect(world.cache.stats().timers.armed).toBe(0);
      await world.lapse(10_000_000);
      gate.resolve("source");
      expect(await result).toBe("source");
    });

    it("does not bound a call outside enable()", async () => {
      const world = await rig.world();
      const gate = deferred<string>();
      const load = world.cache.cached(() => gate.promise, {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        fallbackTimeoutMs: 10,
      });
      const result = load();
      await world.lapse(1_000);
      gate.resolve("source");
      expect(await result).toBe("source");
    });
  });
});
