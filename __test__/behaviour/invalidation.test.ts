import { DialCache, DialCacheKeyConfig, DialCacheKeyError, RedisClient } from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { deferred } from "../support/deferred";
import { recordLogger, recordMetrics } from "../support/recorders";
import { type RedisServer, startRedis } from "../support/redis-server";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const BOTH = DialCacheKeyConfig.enabled(60);

describe("invalidateRemote(), native client", () => {
  let server: RedisServer;
  let namespaces = 0;

  beforeAll(async () => {
    server = await startRedis();
  });

  afterAll(() => server.stop());

  async function world(config: DialCacheKeyConfig = BOTH) {
    const client = new RedisClient({ url: server.url });
    await client.ready({ timeoutMs: 10_000 });
    namespaces += 1;
    const metrics = recordMetrics();
    const log = recordLogger();
    const make = () =>
      new DialCache({
        namespace: `inv-${namespaces}`,
        redis: { client, readTimeoutMs: 5_000 },
        metrics: metrics.adapter,
        logger: log.logger,
      });
    const cache = make();
    onTestFinished(async () => {
      await cache.close();
      client.close();
    });
    let version = 0;
    const gates: Promise<void>[] = [];
    const sources: number[] = [];
    const reader = (of: DialCache, useCase = "Get") =>
      of.cached(
        async (_id: string) => {
          const seen = version;
          sources.push(seen);
          await gates.shift();
          return seen;
        },
        {
          keyType: "user_id",
          useCase,
          cacheKey: (id) => id,
          defaultConfig: config,
          trackForInvalidation: true,
        },
      );
    return {
      cache,
      client,
      log,
      metrics,
      sources,
      make,
      reader,
      load: reader(cache),
      change: () => {
        version += 1;
      },
      hold: () => {
        const gate = deferred<void>();
        gates.push(gate.promise);
        return () => gate.resolve();
      },
    };
  }

  it("the next call loads afresh, here and in another process's instance", async () => {
    const { cache, load, make, reader, change, sources } = await world();
    const other = make();
    const otherLoad = reader(other);
    expect(await cache.enable(() => load("1"))).toBe(0);
    expect(await cache.drain()).toBe(true);
    expect(await other.enable(() => otherLoad("1"))).toBe(0);
    expect(sources).toEqual([0]);

    change();
    await cache.invalidateRemote("user_id", "1");
    expect(await cache.enable(() => load("1"))).toBe(1);
    expect(await cache.drain()).toBe(true);
    const third = make();
    expect(await third.enable(() => reader(third)("1"))).toBe(1);
    // A value stamped in the very millisecond of the watermark is barred by it, and loaded once more.
    expect(new Set(sources.slice(1))).toEqual(new Set([1]));
  });

  it("other ids, and untracked entries of the same id, stay", async () => {
    const { cache, load, change, sources } = await world();
    const untracked = cache.cached(async (_id: string) => "kept", {
      keyType: "user_id",
      useCase: "Untracked",
      cacheKey: (id) => id,
      defaultConfig: BOTH,
    });
    await cache.enable(async () => [await load("1"), await load("2"), await untracked("1")]);
    await cache.drain();
    change();
    await cache.invalidateRemote("user_id", "1");
    expect(await cache.enable(() => load("2"))).toBe(0);
    expect(await cache.enable(() => untracked("1"))).toBe("kept");
    const { Untracked } = cache.stats().useCases;
    expect(Untracked?.sourceCalls).toBe(1);
    expect(sources).toEqual([0, 0]);
  });

  it("a load that began before is not served after it, within the buffer, in any layer", async () => {
    const { cache, load, hold, change, sources } = await world();
    const release = hold();
    const slow = cache.enable(() => load("1"));
    await expect.poll(() => sources.length).toBe(1);
    change();
    await cache.invalidateRemote("user_id", "1", 60_000);
    const fresh = cache.enable(() => load("1"));
    release();
    expect(await slow).toBe(0);
    expect(await fresh).toBe(1);
    expect(await cache.drain()).toBe(true);
    expect(await cache.enable(() => load("1"))).toBe(1);
    expect(await cache.drain()).toBe(true);
    const { Get } = cache.stats().useCases;
    expect(Get?.writes).toMatchObject({ fenced: 3, ok: 0, failed: 0 });
    expect(cache.stats().local.entries).toBe(0);
  });

  it("a request-local value of before is not served after it", async () => {
    const { cache, load, change } = await world(
      new DialCacheKeyConfig({ requestLocal: true, ttlSec: { remote: 60, local: 60 } }),
    );
    await cache.enable(async () => {
      expect(await load("1")).toBe(0);
      expect(await load("2")).toBe(0);
      await cache.drain();
      change();
      await cache.invalidateRemote("user_id", "1");
      expect(await load("1")).toBe(1);
      expect(await load("2")).toBe(0);
    });
  });

  it("is counted, and a failure is logged, counted and thrown", async () => {
    const { cache, client, log, metrics } = await world();
    await cache.invalidateRemote("user_id", 1);
    expect(metrics.count("invalidation", { keyType: "user_id", layer: "remote" })).toBe(1);
    client.close();
    await expect(cache.invalidateRemote("user_id", 1n)).rejects.toMatchObject({ code: "DIALCACHE_CLOSED" });
    expect(metrics.count("error", { error: "invalidation", layer: "remote", inFallback: false })).toBe(1);
    expect(log.warnings).toHaveLength(1);
    expect(cache.stats().invalidations).toEqual({ user_id: { calls: 2, failed: 1 } });
  });

  it.each([-1, 0.5, Number.NaN, 31_536_000_001, "1"])("refuses a buffer of %s", async (buffer) => {
    const { cache } = await world();
    await expect(cache.invalidateRemote("user_id", "1", buffer as number)).rejects.toThrow(/futureBufferMs/);
  });

  it("refuses ids that cannot be part of a tracked key", async () => {
    const { cache } = await world();
    await expect(cache.invalidateRemote("user_id", "a{b")).rejects.toBeInstanceOf(DialCacheKeyError);
    await expect(cache.invalidateRemote("user_id", "\ud800")).rejects.toBeInstanceOf(DialCacheKeyError);
  });

  it("refuses key types that cannot be part of a tracked key, before anything is invalidated", async () => {
    const { cache, metrics } = await world();
    for (const keyType of ["a{b", "\ud800"]) {
      await expect(cache.invalidateRemote(keyType, "1")).rejects.toBeInstanceOf(DialCacheKeyError);
    }
    expect(metrics.count("invalidation", {})).toBe(0);
  });

  it("works for an ACL user with the commands and keys that the README names, and no others", async () => {
    const commands = "get mget set evalsha eval time getrange setrange unlink pttl pexpire".split(" ");
    const rules = ["on", ">secret", "~{acl:*", "~acl:*", "-@all", ...commands.map((command) => `+${command}`)];
    await server.command("ACL", "SETUSER", "narrow", "reset", ...rules);
    const client = new RedisClient({ url: server.url, username: "narrow", password: "secret" });
    await client.ready({ timeoutMs: 10_000 });
    const log = recordLogger();
    const cache = new DialCache({ namespace: "acl", redis: { client, readTimeoutMs: 5_000 }, logger: log.logger });
    onTestFinished(async () => {
      await cache.close();
      client.close();
    });
    let version = 0;
    const load = (useCase: string, trackForInvalidation: boolean) =>
      cache.enable(() =>
        cache.getOrLoad(() => version, {
          keyType: "user_id",
          useCase,
          key: "1",
          trackForInvalidation,
          defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
        }),
      );
    expect([await load("Tracked", true), await load("Plain", false)]).toEqual([0, 0]);
    expect(await cache.drain()).toBe(true);
    version = 1;
    expect([await load("Tracked", true), await load("Plain", false)]).toEqual([0, 0]);
    await cache.invalidateRemote("user_id", "1", 1_000);
    expect([await load("Tracked", true), await load("Plain", false)]).toEqual([1, 0]);
    expect(await cache.drain()).toBe(true);
    expect(cache.stats().useCases["Tracked" as string]?.writes).toMatchObject({ ok: 1, fenced: 1, failed: 0 });
    expect(log.warnings).toEqual([]);
  });

  it("needs a Redis layer that is not closed", async () => {
    await expect(new DialCache().invalidateRemote("user_id", "1")).rejects.toBeInstanceOf(TypeError);
    const { cache } = await world();
    await cache.close();
    await expect(cache.invalidateRemote("user_id", "1")).rejects.toMatchObject({ code: "DIALCACHE_CLOSED" });
  });
});
