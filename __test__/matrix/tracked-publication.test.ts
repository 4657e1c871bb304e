import { DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { RIGS, type Rig, useRig, type World } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const LOCAL_AND_REMOTE = DialCacheKeyConfig.enabled(60);
const REMOTE = new DialCacheKeyConfig({ ttlSec: { remote: 60 } });

interface Failure {
  readonly name: string;
  readonly timeout: boolean;
  /** Makes the next tracked read of GetUser 1 fail. */
  prepare(world: World): Promise<unknown>;
  /** Makes Redis healthy again. */
  repair(world: World): Promise<unknown>;
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
    // MGET has no error of its own: of a key that is no string it answers that it is not there.
    prepare: (world) => world.server.command("ACL", "SETUSER", "default", "-mget"),
    repair: (world) => world.server.command("ACL", "SETUSER", "default", "+@all"),
  },
  {
    name: "frame of unknown encoding",
    timeout: false,
    prepare: async (world) => {
      const { value, watermark } = world.trackedKeys("GetUser", "1");
      const frame = Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 9, 9]), Buffer.from('"redis"')]);
      await world.server.command("SETEX", value, 600, frame);
      await world.server.command("SETEX", watermark, 600, "8");
    },
    repair: (world) => world.server.command("DEL", world.trackedKeys("GetUser", "1").value),
  },
];

async function failedRead(rig: Rig, failure: Failure, defaultConfig: DialCacheKeyConfig) {
  // Only the timeout may end by the deadline.
  const world = await rig.world(failure.timeout ? {} : { readTimeoutMs: 10_000 });
  let version = 0;
  const source = vi.fn(async () => {
    version += 1;
    return `source ${version}`;
  });
  const load = world.load("GetUser", source, { defaultConfig, trackForInvalidation: true });
  await failure.prepare(world);
  const result = load("1");
  await world.readStarted("GetUser");
  if (failure.timeout) {
    await world.lapse();
  }
  expect(await result).toBe("source 1");
  return { world, source, load };
}

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  describe.each(FAILURES)("after a tracked read failed by $name", (failure) => {
    it("Timeout/error skips the Redis write for tracked keys", async () => {
      const { world, source } = await failedRead(rig, failure, REMOTE);
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(1);
      expect(world.cache.stats().pendingWrites).toBe(0);
      await failure.repair(world);
      await world.written();
      expect(await world.calls("set")).toBe(0);
      expect(await world.calls("eval(?:sha)?")).toBe(0);
      expect(world.stats("GetUser").writes).toMatchObject({ ok: 0, failed: 0 });
      expect(world.metrics.count("error", { error: "cache_read", layer: "remote" })).toBe(1);
    });

    it("Tracked local population is suppressed", async () => {
      const { world, source, load } = await failedRead(rig, failure, LOCAL_AND_REMOTE);
      expect(world.cache.stats().local.entries).toBe(0);
      await failure.repair(world);
      expect(await load("1")).toBe("source 2");
      await world.written();
      // An ordinary miss, whose stamp was accepted: now it may be kept.
      expect(world.cache.stats().local.entries).toBe(1);
      expect(await load("1")).toBe("source 2");
      expect(source).toHaveBeenCalledTimes(2);
      expect(world.stats("GetUser").hits.local).toBe(1);
    });

    it("A retry after the failure starts a fresh tracked read and can recover", async () => {
      const { world, source, load } = await failedRead(rig, failure, REMOTE);
      await failure.repair(world);
      expect(await load("1")).toBe("source 2");
      await world.written();
      expect(await load("1")).toBe("source 2");
      expect(source).toHaveBeenCalledTimes(2);
      expect(world.stats("GetUser").readDeadlinesArmed).toBe(3);
      expect(world.log.warnings).toHaveLength(1);
    });
  });

  it("a tracked miss is written with a stamp, and an invalidation fences it", async () => {
    const world = await rig.world({ readTimeoutMs: 10_000 });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: LOCAL_AND_REMOTE, trackForInvalidation: true });
    expect(await load("1")).toBe("source");
    await world.written();
    expect(world.stats("GetUser").writes).toMatchObject({ ok: 1 });
    await world.cache.invalidateRemote("user_id", "1");
    expect(world.cache.stats().local.entries).toBe(0);
    expect(await load("1")).toBe("source");
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("Normal tracked misses and serializer-load refreshes still write Redis", async () => {
    const world = await rig.world({ readTimeoutMs: 10_000 });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: REMOTE, trackForInvalidation: true });
    const { value, watermark } = world.trackedKeys("GetUser", "1");
    const unloadable = Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 9, 0]), Buffer.from("{not json")]);
    await world.server.command("SETEX", value, 600, unloadable);
    await world.server.command("SETEX", watermark, 600, "8");
    expect(await load("1")).toBe("source");
    await world.written();
    expect(world.metrics.count("error", { error: "serialization_load" })).toBe(1);
    expect(world.stats("GetUser").writes).toMatchObject({ ok: 1 });
    expect(await load("1")).toBe("source");
    expect(source).toHaveBeenCalledTimes(1);
  });
});
