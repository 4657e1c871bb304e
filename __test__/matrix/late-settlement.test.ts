import { DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { until } from "../support/real-time";
import { RIGS, useRig, type World } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const LOCAL_AND_REMOTE = DialCacheKeyConfig.enabled(60);

/** What an operator has been shown so far. */
function shown(world: World) {
  return {
    warnings: world.log.warnings.length,
    errors: world.metrics.count("error"),
    remoteErrors: world.metrics.count("error", { error: "cache_read", layer: "remote", inFallback: false }),
    requests: world.metrics.count("request"),
    misses: world.metrics.count("miss"),
    gets: world.metrics.count("observeGet"),
  };
}

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  describe("A late Redis hit is ignored; a late rejection is consumed without duplicate observability", () => {
    it.each([
      ["Redis only", new DialCacheKeyConfig({ ttlSec: { remote: 60 } })],
      ["local and Redis", LOCAL_AND_REMOTE],
      ["request-local and Redis", new DialCacheKeyConfig({ ttlSec: { remote: 60 }, requestLocal: true })],
    ])("hit, with %s", async (_layers, defaultConfig) => {
      const world = await rig.world({ proxy: true });
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source, { defaultConfig });
      await world.plant("GetUser", "1", '"redis"');
      world.proxy.holdReplies();
      const result = load("1");
      await until("the reply is on its way", () => world.proxy.heldBytes > 0);
      await world.lapse();
      expect(await result).toBe("source");
      const before = shown(world);
      expect(before).toMatchObject({ warnings: 1, errors: 1, remoteErrors: 1 });

      world.proxy.releaseReplies();
      await world.lateSettled();
      expect(shown(world)).toEqual(before);
      expect(world.cache.stats().flights).toMatchObject({ active: 0, lingering: 0 });
      expect(await world.calls("set")).toBe(0);
      if (defaultConfig === LOCAL_AND_REMOTE) {
        // The source's value was kept; the late hit did not replace it.
        expect(await load("1")).toBe("source");
        expect(world.stats("GetUser").hits.local).toBe(1);
      } else {
        expect(await load("1")).toBe("redis");
      }
      expect(source).toHaveBeenCalledTimes(1);
    });

    it("miss", async () => {
      const world = await rig.world({ proxy: true });
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source);
      world.proxy.holdReplies();
      const result = load("1");
      await until("the reply is on its way", () => world.proxy.heldBytes > 0);
      await world.lapse();
      expect(await result).toBe("source");
      const before = shown(world);
      world.proxy.releaseReplies();
      await world.lateSettled();
      expect(shown(world)).toEqual(before);
      expect(await world.calls("set")).toBe(0);
    });

    it("rejection", async () => {
      const world = await rig.world({ proxy: true });
      const load = world.load("GetUser", async () => "source");
      // GET of a list is refused by the server: a real error reply.
      await world.server.command("RPUSH", world.key("GetUser", "1"), "not a string");
      world.proxy.holdReplies();
      const result = load("1");
      await until("the reply is on its way", () => world.proxy.heldBytes > 0);
      await world.lapse();
      expect(await result).toBe("source");
      const before = shown(world);
      expect(before).toMatchObject({ warnings: 1, errors: 1, remoteErrors: 1 });
      world.proxy.releaseReplies();
      await world.lateSettled();
      expect(shown(world)).toEqual(before);
      expect(await world.server.command("TYPE", world.key("GetUser", "1"))).toBe("list");
    });

    it("the connection's end", async () => {
      const world = await rig.world({ proxy: true });
      const load = world.load("GetUser", async () => "source");
      world.proxy.holdReplies();
      const result = load("1");
      await until("the reply is on its way", () => world.proxy.heldBytes > 0);
      await world.lapse();
      expect(await result).toBe("source");
      const before = shown(world);
      world.proxy.reset();
      await world.lateSettled();
      expect(shown(world)).toEqual(before);
    });

    it("a hit that comes while the fallback still runs", async () => {
      const world = await rig.world({ proxy: true });
      let finish = (_value: string) => {};
      const source = vi.fn(
        () =>
          new Promise<string>((resolve) => {
            finish = resolve;
          }),
      );
      const load = world.load("GetUser", source, { defaultConfig: LOCAL_AND_REMOTE });
      await world.plant("GetUser", "1", '"redis"');
      world.proxy.holdReplies();
      const result = load("1");
      await until("the reply is on its way", () => world.proxy.heldBytes > 0);
      await world.lapse();
      await until("the source starts", () => source.mock.calls.length === 1);
      world.proxy.releaseReplies();
      await world.lateSettled();
      expect(world.flights().activeLeaders).toBe(1);
      finish("source");
      expect(await result).toBe("source");
      expect(await load("1")).toBe("source");
      expect(await world.calls("set")).toBe(0);
    });
  });

  it("No timeout timer or late operation creates an unhandled rejection", async () => {
    const world = await rig.world({ proxy: true });
    const failure = new Error("source down");
    const ids = Array.from({ length: 60 }, (_, index) => String(index));
    const load = world.load("GetUser", async (id) => {
      if (Number(id) % 3 === 0) {
        throw failure;
      }
      return id;
    });
    // A third of the late replies are hits, a third errors, a third misses.
    for (const id of ids) {
      if (Number(id) % 3 === 1) {
        await world.plant("GetUser", id, `"redis ${id}"`);
      } else if (Number(id) % 3 === 2) {
        await world.server.command("RPUSH", world.key("GetUser", id), "list");
      }
    }
    world.proxy.holdReplies();
    const results = Promise.allSettled(ids.map((id) => load(id)));
    await world.readStarted("GetUser", ids.length);
    await world.lapse();
    const settled = await results;
    expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(20);
    world.proxy.releaseReplies();
    await world.lateSettled();
    // `failOnUnhandled` judges.
    expect(world.stats("GetUser").readTimeouts).toBe(ids.length);
    expect(world.cache.stats().timers.armed).toBe(0);
  });
});
