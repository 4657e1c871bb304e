import { DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { RIGS, type Rig, useRig, type World } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const LOCAL_AND_REMOTE = DialCacheKeyConfig.enabled(60);

interface Failure {
  readonly name: string;
  readonly timeout: boolean;
  /** Makes the next read of GetUser 1 fail. */
  prepare(world: World): Promise<void>;
  /** Makes Redis healthy again. */
  repair(world: World): Promise<void>;
}

const FAILURES: readonly Failure[] = [
  {
    name: "timeout",
    timeout: true,
    prepare: (world) => world.server.freeze(),
    repair: async (world) => {
      world.server.thaw();
      await world.lateSettled();
    },
  },
  {
    name: "error reply",
    timeout: false,
    prepare: async (world) => {
      await world.server.command("RPUSH", world.key("GetUser", "1"), "list");
    },
    repair: async (world) => {
      await world.server.command("DEL", world.key("GetUser", "1"));
    },
  },
  {
    name: "frame of unknown encoding",
    timeout: false,
    prepare: async (world) => {
      const frame = Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 1, 9]), Buffer.from('"redis"')]);
      await world.server.command("SETEX", world.key("GetUser", "1"), 600, frame);
    },
    repair: async (world) => {
      await world.server.command("DEL", world.key("GetUser", "1"));
    },
  },
];

async function failedRead(rig: Rig, failure: Failure, defaultConfig: DialCacheKeyConfig) {
  // Only the timeout may end by the deadline.
  const world = await rig.world(failure.timeout ? {} : { readTimeoutMs: 10_000 });
  const source = vi.fn(async () => "source");
  const load = world.load("GetUser", source, { defaultConfig });
  await failure.prepare(world);
  const result = load("1");
  await world.readStarted("GetUser");
  if (failure.timeout) {
    await world.lapse();
  }
  expect(await result).toBe("source");
  return { world, source, load };
}

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  describe.each(FAILURES)("after a read failed by $name", (failure) => {
    it("Timeout/error skips the Redis write for untracked keys", async () => {
      const { world, source } = await failedRead(rig, failure, new DialCacheKeyConfig({ ttlSec: { remote: 60 } }));
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.cache.stats().pendingWrites).toBe(0);
      await failure.repair(world);
      await world.written();
      expect(await world.calls("set")).toBe(0);
      expect(world.stats("GetUser").writes).toMatchObject({ ok: 0, failed: 0 });
      expect(world.metrics.count("error", { error: "cache_write" })).toBe(0);
      expect(world.metrics.count("observeSerialization", { operation: "dump" })).toBe(0);
    });

    it("Untracked local population is allowed", async () => {
      const { world, source, load } = await failedRead(rig, failure, LOCAL_AND_REMOTE);
      expect(world.cache.stats().local.entries).toBe(1);
      expect(await load("1")).toBe("source");
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.stats("GetUser").hits.local).toBe(1);
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
      await failure.repair(world);
      expect(await world.calls("set")).toBe(0);
    });

    it("no local population where the local layer was no active miss", async () => {
      const config = new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, ramp: { local: 0 } });
      const { world } = await failedRead(rig, failure, config);
      expect(world.cache.stats().local.entries).toBe(0);
      await failure.repair(world);
    });

    it("request-local memoises the source's value", async () => {
      const world = await rig.world(failure.timeout ? {} : { readTimeoutMs: 10_000 });
      const source = vi.fn(async () => "source");
      const load = world.cache.cached(source, {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 }, requestLocal: true }),
      });
      await failure.prepare(world);
      await world.cache.enable(async () => {
        const result = load();
        await world.readStarted("GetUser");
        if (failure.timeout) {
          await world.lapse();
        }
        expect(await result).toBe("source");
        expect(await load()).toBe("source");
      });
      expect(source).toHaveBeenCalledTimes(1);
      await failure.repair(world);
    });

    it("one warning with the error and one metric event, however many callers waited", async () => {
      const world = await rig.world(failure.timeout ? {} : { readTimeoutMs: 10_000 });
      const load = world.load("GetUser", async () => "source");
      await failure.prepare(world);
      const results = Promise.all(Array.from({ length: 10 }, () => load("1")));
      await world.readStarted("GetUser");
      if (failure.timeout) {
        await world.lapse();
      }
      await results;
      expect(world.log.warnings).toHaveLength(1);
      expect(world.log.warnings[0]?.args.some((arg) => arg instanceof Error)).toBe(true);
      const errors = world.metrics.of("error");
      expect(errors.map(({ labels }) => labels)).toEqual([
        {
          cacheNamespace: world.namespace,
          useCase: "GetUser",
          keyType: "user_id",
          layer: "remote",
          error: "cache_read",
          inFallback: false,
        },
      ]);
      expect(world.metrics.count("disabled", { layer: "remote" })).toBe(0);
      await failure.repair(world);
    });

    it("the next call starts a fresh read and an ordinary miss writes again", async () => {
      const { world, source, load } = await failedRead(
        rig,
        failure,
        new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
      );
      await failure.repair(world);
      expect(await load("1")).toBe("source");
      await world.written();
      expect(await world.stored("GetUser", "1")).toMatchObject({ payload: '"source"' });
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(2);
      expect(await load("1")).toBe("source");
      expect(source).toHaveBeenCalledTimes(2);
      expect(world.log.warnings).toHaveLength(1);
    });
  });
});
