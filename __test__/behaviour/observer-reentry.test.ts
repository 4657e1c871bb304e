import { type DialCache, DialCacheKeyConfig, type DialCacheMetricsAdapter } from "dialcache-native";
import { describe, expect, it } from "vitest";
import { turns } from "../support/real-time";
import { hostileMetrics } from "../support/recorders";
import { CLIENT_RIGS, type Load, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

/** Observers that call `act`, but not for what they caused themselves. */
function observers(act: () => void): { metrics: DialCacheMetricsAdapter; logger: never } {
  let inside = false;
  const once = () => {
    if (inside) return;
    inside = true;
    try {
      act();
    } finally {
      inside = false;
    }
  };
  return { metrics: hostileMetrics(once), logger: { debug: once, warn: once, error: once } as never };
}

const CONFIGS = {
  "the local layer": new DialCacheKeyConfig({ ttlSec: { local: 60 } }),
  Redis: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
  "every layer": new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true }),
  "no coalescing": new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, coalesce: false }),
};

describe.each(CLIENT_RIGS)("$client, $time: metrics and logger that use the cache they observe", (kind) => {
  const rig = useRig(kind);

  describe.each(Object.entries(CONFIGS))("%s", (_layer, defaultConfig) => {
    it("by a call of the same key: it gets the same value", async () => {
      let load: Load<string> | undefined;
      const inner: Promise<string>[] = [];
      const world = await rig.world({
        config: observers(() => {
          if (load !== undefined && inner.length < 100) inner.push(load("1"));
        }),
      });
      load = world.load("GetUser", async (id) => `user ${id}`, { defaultConfig });
      expect(await Promise.all([load("1"), load("1")])).toEqual(["user 1", "user 1"]);
      expect(await load("1")).toBe("user 1");
      expect(inner.length).toBeGreaterThan(0);
      // What the observers call is observed as well, and makes them call again.
      for (let seen = 0; seen < inner.length; ) {
        seen = inner.length;
        for (const value of await Promise.all(inner)) expect(value).toBe("user 1");
        await world.written();
        await turns(2);
      }
      expect(world.cache.stats()).toMatchObject({
        flights: { active: 0, followers: 0, lingering: 0 },
        timers: { armed: 0 },
        pendingWrites: 0,
      });
    });

    it("by closing it: the source's value comes", async () => {
      let cache: DialCache | undefined;
      const world = await rig.world({ readTimeoutMs: 20_000, config: observers(() => void cache?.close()) });
      cache = world.cache;
      const load = world.load("GetUser", async (id) => `user ${id}`, { defaultConfig });
      expect(await Promise.all([load("1"), load("1")])).toEqual(["user 1", "user 1"]);
      await world.written();
      expect(cache.stats()).toMatchObject({ flights: { active: 0, followers: 0 }, timers: { armed: 0 } });
    });
  });
});
