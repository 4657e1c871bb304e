import { AsyncLocalStorage } from "node:async_hooks";
import { DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { turns } from "../support/real-time";
import { RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);
  const healthy = { readTimeoutMs: 10_000 };

  it("outside enable() a call is a plain call: no key, no sharing, arguments and this untouched", async () => {
    const world = await rig.world(healthy);
    const cacheKey = vi.fn((..._args: unknown[]) => "1");
    const source = vi.fn(async (...args: unknown[]) => args.length);
    const load = world.cache.cached(source, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey,
      defaultConfig: DialCacheKeyConfig.enabled(60),
    });
    expect(world.cache.isEnabled()).toBe(false);
    expect(await Promise.all([load(1, "two"), load(1, "two")])).toEqual([2, 2]);
    expect(source).toHaveBeenCalledTimes(2);
    expect(source).toHaveBeenLastCalledWith(1, "two");
    expect(cacheKey).not.toHaveBeenCalled();
    expect(world.metrics.count("disabled", { reason: "context", layer: "noop" })).toBe(2);
    expect(world.cache.stats().local.entries).toBe(0);
    expect(await world.calls("get")).toBe(0);
  });

  it("a value that is no promise comes back as one, inside and outside", async () => {
    const world = await rig.world(healthy);
    const load = world.cache.cached(() => "source", { keyType: "user_id", useCase: "GetUser", cacheKey: () => "1" });
    expect(load()).toBeInstanceOf(Promise);
    expect(await load()).toBe("source");
    expect(await world.cache.enable(() => load())).toBe("source");
  });

  it("enable() nests, disable() inside turns off for its extent, and results come through", async () => {
    const world = await rig.world(healthy);
    const seen: boolean[] = [];
    const look = () => {
      seen.push(world.cache.isEnabled());
    };
    look();
    const result = await world.cache.enable(async () => {
      look();
      await world.cache.disable(async () => {
        look();
        await turns(1);
        await world.cache.enable(look);
        look();
      });
      await turns(1);
      look();
      return "result";
    });
    look();
    expect(result).toBe("result");
    expect(seen).toEqual([false, true, false, true, false, true, false]);
    const failure = new Error("inside");
    await expect(world.cache.enable(() => Promise.reject(failure))).rejects.toBe(failure);
    await expect(
      world.cache.disable(() => {
        throw failure;
      }),
    ).rejects.toBe(failure);
  });

  it("withEnabled() and withDisabled() are the same by other names", async () => {
    const world = await rig.world(healthy);
    const look = () => world.cache.isEnabled();
    expect(
      await world.cache.withEnabled(async () => [look(), await world.cache.withDisabled(async () => look()), look()]),
    ).toEqual([true, false, true]);
    expect(look()).toBe(false);
  });

  it("two instances are enabled apart", async () => {
    const world = await rig.world(healthy);
    const other = world.another();
    await world.cache.enable(async () => {
      expect(world.cache.isEnabled()).toBe(true);
      expect(other.isEnabled()).toBe(false);
    });
  });

  describe("user code runs in the async context of the leader's call", () => {
    const context = new AsyncLocalStorage<string>();

    /** One leader in context "leader"; where each piece of user code believed to be. */
    async function observe(prepare: "hit" | "miss" | "timeout" | "error") {
      const where: Record<string, string | undefined> = {};
      const note = (name: string) => {
        where[name] = context.getStore();
      };
      const world = await rig.world({
        ...(prepare === "timeout" ? {} : healthy),
        config: {
          cacheConfigProvider: () => {
            note("provider");
            return null;
          },
          logger: { debug: () => {}, error: () => note("logger"), warn: () => note("logger") },
        },
      });
      const load = world.cache.cached(
        async () => {
          note("source");
          return "source";
        },
        {
          keyType: "user_id",
          useCase: "GetUser",
          cacheKey: () => {
            note("cacheKey");
            return "1";
          },
          defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
          serializer: {
            dump: (value) => {
              note("dump");
              return value;
            },
            load: (payload) => {
              note("load");
              return String(payload);
            },
          },
        },
      );
      if (prepare === "hit") {
        await world.plant("GetUser", "1", "redis");
      } else if (prepare === "error") {
        await world.server.command("RPUSH", world.key("GetUser", "1"), "list");
      } else if (prepare === "timeout") {
        await world.server.freeze();
      }
      const leader = context.run("leader", () => world.cache.enable(() => load()));
      const follower = context.run("follower", () => world.cache.enable(() => load()));
      await world.readStarted("GetUser");
      if (prepare === "timeout") {
        await context.run("clock", () => world.lapse());
      }
      await Promise.all([leader, follower]);
      await world.written();
      return where;
    }

    it("on a hit", async () => {
      expect(await observe("hit")).toMatchObject({ provider: "follower", cacheKey: "follower", load: "leader" });
    });

    it("on a miss", async () => {
      expect(await observe("miss")).toMatchObject({ source: "leader", dump: "leader" });
    });

    it("after a timeout", async () => {
      expect(await observe("timeout")).toMatchObject({ source: "leader", logger: "leader" });
    });

    it("after an error", async () => {
      expect(await observe("error")).toMatchObject({ source: "leader", logger: "leader" });
    });

    it("the caller's own context is back after each await", async () => {
      const world = await rig.world(healthy);
      const load = world.load("GetUser", async () => "source");
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          context.run(`caller ${index}`, async () => {
            await load(String(index % 4));
            expect(context.getStore()).toBe(`caller ${index}`);
          }),
        ),
      );
    });

    it("a source that loads through the cache itself is enabled", async () => {
      const world = await rig.world(healthy);
      const inner = vi.fn(async (id: string) => `inner ${id}`);
      const loadInner = world.cache.cached(inner, {
        keyType: "user_id",
        useCase: "Inner",
        cacheKey: (id) => id,
        defaultConfig: DialCacheKeyConfig.enabled(60),
      });
      const outer = world.load("Outer", async (id) => {
        expect(world.cache.isEnabled()).toBe(true);
        return [await loadInner(id), await loadInner(id)];
      });
      expect(await outer("1")).toEqual(["inner 1", "inner 1"]);
      expect(inner).toHaveBeenCalledTimes(1);
    });
  });
});
