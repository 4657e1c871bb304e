import { afterEach, describe, expect, it, vi } from "vitest";
import { ScriptedClient } from "../support/clients";
import { useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

afterEach(() => {
  vi.useRealTimers();
  vi.resetModules();
});

const FAKED = ["setTimeout", "clearTimeout", "setImmediate", "Date", "performance"] as const;

function fake() {
  vi.useFakeTimers({ now: 0, toFake: [...FAKED] });
}

describe("Fake timers, starting at 0, drive an instance", () => {
  it.each([
    ["installed before the import", true],
    ["installed after the import", false],
  ])("%s", async (_when, before) => {
    vi.resetModules();
    if (before) {
      fake();
    }
    const { DialCache, DialCacheKeyConfig, RedisReadTimeoutError } = await import("dialcache-native");
    const { installClock } = await import("dialcache-native/testing");
    if (!before) {
      fake();
    }
    expect(Date.now()).toBe(0);
    const uninstall = installClock();
    const client = new ScriptedClient();
    const warnings: unknown[] = [];
    const cache = new DialCache({
      redis: { client, readTimeoutMs: 50 },
      logger: {
        debug: () => {},
        error: () => {},
        warn: (_message: string, ...rest: unknown[]) => warnings.push(...rest),
      },
    });
    uninstall();
    const source = vi.fn(async () => "source");
    const load = cache.cached(source, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => "1",
      defaultConfig: DialCacheKeyConfig.enabled(60),
    });
    // The deadline.
    const result = cache.enable(() => load());
    await vi.advanceTimersByTimeAsync(49);
    expect(source).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await result).toBe("source");
    expect(warnings.some((warning) => warning instanceof RedisReadTimeoutError)).toBe(true);
    // The local TTL, of a value stored at 50 ms.
    await vi.advanceTimersByTimeAsync(59_999);
    expect(await cache.enable(() => load())).toBe("source");
    expect(source).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    client.autoRead = () => '"redis"';
    expect(await cache.enable(() => load())).toBe("redis");
  });
});

describe("Fake timers that are no clock", () => {
  it("do not hold up drain()", async () => {
    const { DialCache, DialCacheKeyConfig } = await import("dialcache-native");
    const client = new ScriptedClient();
    client.autoRead = () => null;
    const cache = new DialCache({ redis: { client, readTimeoutMs: 25_000 }, logger: null });
    const load = cache.cached(async () => "source", {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => "1",
      defaultConfig: DialCacheKeyConfig.enabled(60),
    });
    expect(await cache.enable(() => load())).toBe("source");
    fake();
    expect(await cache.drain({ timeoutMs: 20 })).toBe(false);
  });
});

describe("Fake timers that were there before the package", () => {
  const rig = useRig({ client: "native client", time: "real time" });

  // As with a test runner that fakes timers for every file.
  it("do not hold up what the native client brings", async () => {
    vi.resetModules();
    vi.useFakeTimers({ toFake: [...FAKED, "queueMicrotask"] });
    const { DialCache, DialCacheKeyConfig, RedisClient } = await import("dialcache-native");
    const client = new RedisClient({ url: rig.server.url });
    await client.ready();
    const cache = new DialCache({ redis: { client, readTimeoutMs: 25_000 }, logger: null });
    const load = cache.cached(async (id: number) => id, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
    });
    const ids = Array.from({ length: 2_000 }, (_, id) => id);
    expect(await cache.enable(() => Promise.all(ids.map((id) => load(id))))).toEqual(ids);
    expect(await cache.drain()).toBe(true);
    client.close();
  });
});

describe("Fake timers over an instance of real time", () => {
  it("do not hold up drain(): it gives up when its own time is over", async () => {
    const { DialCache, DialCacheKeyConfig } = await import("dialcache-native");
    const client = new ScriptedClient();
    client.autoRead = () => null;
    const cache = new DialCache({ redis: { client, readTimeoutMs: 10_000 }, logger: null });
    fake();
    const load = cache.cached(async (id: string) => id, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
    });
    await cache.enable(() => load("1"));
    expect(await cache.drain({ timeoutMs: 10 })).toBe(false);
  });
});
