import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { installClock, manualClock } from "dialcache-native/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { ScriptedClient } from "../support/clients";
import { never } from "../support/deferred";
import { turns, until } from "../support/real-time";
import { LOCAL_ONLY, loader } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Waits until at most `most` of the referenced objects are left. */
async function collected(references: readonly WeakRef<object>[], most = 0) {
  await until(`all but ${most} objects are collected`, async () => {
    await turns(2);
    collect();
    return references.filter((reference) => reference.deref() !== undefined).length <= most;
  });
}

/** Loads `count` objects and keeps only weak references to them. */
async function loadMany(load: (id: string) => Promise<object>, count: number): Promise<WeakRef<object>[]> {
  const references: WeakRef<object>[] = [];
  for (let id = 0; id < count; id += 1) {
    references.push(new WeakRef(await load(String(id))));
  }
  return references;
}

describe("Values the cache no longer holds are not kept alive", () => {
  it("evicted by size", async () => {
    const cache = new DialCache({ localMaxSize: 10, logger: null });
    const load = loader(cache, "GetUser", async (id) => ({ id }), { defaultConfig: LOCAL_ONLY });
    const references = await loadMany(load, 500);
    // One more call gives the package its chance to let go.
    await load("last");
    await collected(references, 10);
  });

  it("expired, once they were read again", async () => {
    const clock = manualClock();
    onTestFinished(installClock(clock));
    const cache = new DialCache({ logger: null });
    let fail = false;
    const load = loader(
      cache,
      "GetUser",
      async (id) => {
        if (fail) {
          throw new Error("down");
        }
        return { id };
      },
      { defaultConfig: LOCAL_ONLY },
    );
    const references = await loadMany(load, 100);
    await clock.advance(60_000);
    fail = true;
    for (let id = 0; id < 100; id += 1) {
      await load(String(id)).catch(() => {});
    }
    await collected(references);
    expect(cache.stats().local.entries).toBe(0);
  });

  it("replaced", async () => {
    const clock = manualClock();
    onTestFinished(installClock(clock));
    const cache = new DialCache({ logger: null });
    const load = loader(cache, "GetUser", async (id) => ({ id }), { defaultConfig: LOCAL_ONLY });
    const references: WeakRef<object>[] = [];
    for (let round = 0; round < 50; round += 1) {
      references.push(new WeakRef(await load("1")));
      await clock.advance(60_000);
    }
    await collected(references, 1);
  });

  it("of a request whose scope is over", async () => {
    const cache = new DialCache({ logger: null });
    const load = cache.cached(async (id: string) => ({ id }), {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ requestLocal: true }),
    });
    const references = await cache.enable(() => loadMany(load, 100));
    await collected(references);
  });

  it("of no layer at all", async () => {
    const cache = new DialCache({ logger: null });
    const load = loader(cache, "GetUser", async (id) => ({ id }), { defaultConfig: new DialCacheKeyConfig({}) });
    await collected(await loadMany(load, 100));
  });

  it("read from Redis, or written to it", async () => {
    const client = new ScriptedClient();
    client.autoRead = ({ valueKey }) => (valueKey.includes("7") ? null : '{"from":"redis"}');
    client.autoWrite = () => true;
    const cache = new DialCache({ redis: { client, readTimeoutMs: 1_000 }, logger: null });
    const load = loader<object>(cache, "GetUser", async (id) => ({ id }));
    const references = await loadMany(load, 100);
    expect(await cache.drain({ timeoutMs: 1_000 })).toBe(true);
    await collected(references);
  });

  // A frozen server's client keeps thousands of these; it must not keep the callers' values and arguments with them.
  it.each(["promise", "signal"] as const)(
    "after a timed-out read that never settles, though its client holds on to the %s",
    async (held) => {
      const clock = manualClock();
      onTestFinished(installClock(clock));
      const kept: unknown[] = [];
      const client = {
        read: (_request: unknown, context?: { signal: AbortSignal }) => {
          const pending = never<null>();
          kept.push(held === "promise" ? pending : context?.signal);
          return pending;
        },
        write: async () => true,
        invalidate: async () => {},
      };
      const cache = new DialCache({ redis: { client, readTimeoutMs: 50 }, logger: null });
      const load = loader(cache, "GetUser", async (id) => ({ id }));
      const references = await loadMany(async (id) => {
        const result = load(id);
        await clock.advance(50);
        return result;
      }, 20);
      await collected(references);
      expect(kept).toHaveLength(20);
    },
  );
});

describe("A cache nobody holds is collected, with everything in it", () => {
  it("values, and the cache itself", async () => {
    const make = async () => {
      const cache = new DialCache({ logger: null });
      const load = loader(cache, "GetUser", async (id) => ({ id }), { defaultConfig: LOCAL_ONLY });
      return [new WeakRef<object>(cache), ...(await loadMany(load, 20))];
    };
    await collected(await make());
  });
});
