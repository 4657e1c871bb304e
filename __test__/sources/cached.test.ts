import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it } from "vitest";
import { DialCacheKeyConfig } from "../../lib/config";
import { DialCache } from "../../lib/dialcache";
import { BreakerOpenError, FallbackTimeoutError, HedgeLostError, SourceAttemptsError } from "../../lib/errors";
import { source } from "../../lib/source";
import type { SourceContext, SourceOptions } from "../../lib/source-types";
import type { CachedOptions } from "../../lib/types";
import { ScriptedClient } from "../support/clients";
import { connectionError, rejection, soon, stage, state, useManualClock } from "../support/sources";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();
const installed = useManualClock();

const LOCAL = new DialCacheKeyConfig({ ttlSec: { local: 60 } });

function rig(endpoints: number, options: Partial<SourceOptions>, cached: Partial<CachedOptions<() => string>> = {}) {
  const staged = stage(endpoints);
  const users = source(staged.fns, { name: "users", idempotent: true, ...options });
  const cache = new DialCache({ namespace: "sources", logger: null });
  const getUser = cache.cached(users as unknown as (id: string) => Promise<string>, {
    keyType: "user_id",
    useCase: "GetUser",
    cacheKey: (id: string) => id,
    defaultConfig: LOCAL,
    ...cached,
  });
  return { ...staged, users, cache, load: (id = "1") => cache.enable(() => getUser(id)), getUser };
}

describe("a source in place of a function in cached()", () => {
  it("is called once for all callers of a key, with its policies, and its result is kept", async () => {
    const clock = installed();
    const { attempts, log, load, users } = rig(2, { hedge: { delayMs: 50 } });
    const calls = [load(), load(), load("2")];
    await clock.advance(50);
    expect(log()).toEqual(["primary@0", "primary@0", "hedge@1", "hedge@1"]);
    expect(attempts.map(({ args }) => args)).toEqual([["1"], ["2"], ["1"], ["2"]]);
    attempts[2]?.resolve("Ada");
    attempts[1]?.resolve("Eve");
    expect(await Promise.all(calls)).toEqual(["Ada", "Ada", "Eve"]);
    expect(await load()).toBe("Ada");
    expect(users.stats()).toMatchObject({ pending: 0, started: { primary: 2, hedge: 2 } });
  });

  it("rejects leader and followers with one error, and keeps nothing", async () => {
    installed();
    const { attempts, load } = rig(2, { failover: {} });
    const calls = [rejection(load()), rejection(load())];
    attempts[0]?.reject(connectionError());
    await soon();
    attempts[1]?.reject(connectionError());
    const [first, second] = await Promise.all(calls);
    expect(first).toBeInstanceOf(SourceAttemptsError);
    expect(second).toBe(first);
    const again = load();
    attempts[2]?.resolve("Ada");
    expect(await again).toBe("Ada");
  });

  it("is bounded by fallbackTimeoutMs, whose end aborts every attempt with its error", async () => {
    const clock = installed();
    const { attempts, load, users } = rig(2, { hedge: { delayMs: 20 } }, { fallbackTimeoutMs: 50 });
    const calls = [rejection(load()), rejection(load())];
    await clock.advance(20);
    expect(attempts[0]?.ctx.deadline?.remainingMs()).toBe(30);
    await clock.advance(29);
    expect(attempts[0]?.ctx.signal.aborted).toBe(false);
    await clock.advance(1);
    const [first, second] = await Promise.all(calls);
    expect(first).toBeInstanceOf(FallbackTimeoutError);
    expect(first).toMatchObject({ useCase: "GetUser", timeoutMs: 50 });
    expect(second).toBe(first);
    for (const { ctx } of attempts) expect(ctx.signal.reason).toBe(first);
    expect(attempts).toHaveLength(2);
    expect(users.stats()).toMatchObject({ pending: 0, timers: 0, inFlight: 0 });
  });

  it("has its breaker opened by calls that fallbackTimeoutMs ends: a frozen origin is no cancelled loser", async () => {
    const clock = installed();
    const { load, users, log } = rig(1, { breaker: {} }, { fallbackTimeoutMs: 50 });
    const calls = Array.from({ length: 20 }, (_, id) => rejection(load(String(id))));
    await clock.advance(50);
    for (const call of calls) expect(await call).toBeInstanceOf(FallbackTimeoutError);
    expect(users.stats().attempts.primary).toEqual({ ok: 0, error: 0, timeout: 20, cancelled: 0 });
    expect(users.stats().breakers).toEqual(["open"]);
    expect(await rejection(load("20"))).toBeInstanceOf(BreakerOpenError);
    expect(log()).toHaveLength(20);
  });

  it("is bounded by its own timeout when that is shorter, with its own error", async () => {
    const clock = installed();
    const { load } = rig(1, { timeoutMs: 30 }, { fallbackTimeoutMs: 50 });
    const call = rejection(load());
    await clock.advance(30);
    expect(await call).toMatchObject({ code: "DIALCACHE_DEADLINE_EXCEEDED", timeoutMs: 30, step: "users" });
  });

  it("starts no backoff that fallbackTimeoutMs would cut off", async () => {
    installed();
    const { attempts, load } = rig(1, { retry: { baseDelayMs: 1e9, maxDelayMs: 1e9 } }, { fallbackTimeoutMs: 50 });
    const call = rejection(load());
    const error = connectionError();
    attempts[0]?.reject(error);
    expect(await call).toBe(error);
  });

  it("runs on its own when fallbackTimeoutMs is null", async () => {
    const clock = installed();
    const { attempts, load } = rig(1, {}, { fallbackTimeoutMs: null });
    const call = load();
    expect(attempts[0]?.ctx.deadline).toBeUndefined();
    await clock.advance(1_000_000);
    expect(await state(call)).toBe("pending");
    attempts[0]?.resolve("Ada");
    expect(await call).toBe("Ada");
  });

  it("outside any scope it is called as a function", async () => {
    installed();
    const { attempts, getUser } = rig(2, { failover: {} });
    const call = getUser("1");
    attempts[0]?.reject(connectionError());
    await soon();
    attempts[1]?.resolve("Ada");
    expect(await call).toBe("Ada");
  });

  it("runs its attempts in the leader's async context, the hedge too", async () => {
    const clock = installed();
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const { fns, attempts } = stage(2);
    const users = source(
      fns.map((fn) => (ctx: SourceContext, id: string) => {
        seen.push(storage.getStore());
        return fn(ctx, id);
      }),
      { name: "users", idempotent: true, hedge: { delayMs: 10 } },
    );
    const cache = new DialCache({ namespace: "sources", logger: null });
    const getUser = cache.cached(users as unknown as (id: string) => Promise<string>, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id: string) => id,
      defaultConfig: LOCAL,
    });
    const leader = storage.run("leader", () => cache.enable(() => getUser("1")));
    const follower = storage.run("follower", () => cache.enable(() => getUser("1")));
    await clock.advance(10);
    attempts[1]?.resolve("Ada");
    await Promise.all([leader, follower]);
    expect(seen).toEqual(["leader", "leader"]);
  });
});

describe("a source beside a Redis read that is late", () => {
  it("is aborted with HedgeLostError, all its attempts, when the read wins after all", async () => {
    const clock = installed();
    const client = new ScriptedClient();
    const { fns, attempts } = stage(2);
    const users = source(fns, { name: "users", idempotent: true, hedge: { delayMs: 5 } });
    const cache = new DialCache({ namespace: "sources", logger: null, redis: { client, readTimeoutMs: 50 } });
    const getUser = cache.cached(users as unknown as (id: string) => Promise<string>, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id: string) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
      readHedge: { delayMs: 20 },
    });
    const call = cache.enable(() => getUser("1"));
    const read = await client.readAt(0);
    await clock.advance(25);
    expect(attempts).toHaveLength(2);
    read.resolve('"redis"');
    expect(await call).toBe("redis");
    await soon();
    for (const { ctx } of attempts) expect(ctx.signal.reason).toBeInstanceOf(HedgeLostError);
    expect(users.stats()).toMatchObject({ pending: 0, timers: 0, inFlight: 0 });
  });
});

describe("priority", () => {
  it("is the use case's, before the source's", async () => {
    const clock = installed();
    const { load, attempts, log } = rig(2, { hedge: {}, priority: "low" }, { priority: "high" });
    const call = load();
    await clock.advance(119);
    expect(log()).toHaveLength(1);
    await clock.advance(1);
    expect(log()).toHaveLength(2);
    attempts[0]?.resolve("Ada");
    await call;
  });

  it("is applied outside a scope too, and by getOrLoad()", async () => {
    const clock = installed();
    const { getUser, users, cache } = rig(1, {}, { priority: "high" });
    const outside = rejection(getUser("1"));
    const inline = rejection(
      cache.enable(() =>
        cache.getOrLoad(users as () => Promise<string>, {
          keyType: "user_id",
          useCase: "Inline",
          key: "1",
          defaultConfig: LOCAL,
          priority: "normal",
        }),
      ),
    );
    await clock.advance(8_000);
    expect(await outside).toMatchObject({ timeoutMs: 8_000 });
    await clock.advance(7_000);
    expect(await inline).toMatchObject({ timeoutMs: 15_000 });
  });

  it("needs a source, and a name that is known", () => {
    const cache = new DialCache({ namespace: "sources", logger: null });
    const options = { keyType: "user_id", useCase: "GetUser", cacheKey: () => "1" };
    expect(() => cache.cached(async () => "x", { ...options, priority: "high" })).toThrow(/priority needs a source/);
    const users = source(() => "x", { name: "users" });
    expect(() => cache.cached(users, { ...options, priority: "urgent" as never })).toThrow(RangeError);
    expect(() => cache.cached(users, { ...options, priority: "low" })).not.toThrow();
  });
});

describe("getOrLoad()", () => {
  it("takes a source of no arguments", async () => {
    const clock = installed();
    const { fns, attempts, log } = stage(2);
    const settings = source(fns as (() => Promise<string>)[], {
      name: "settings",
      idempotent: true,
      hedge: { delayMs: 10 },
    });
    const cache = new DialCache({ namespace: "sources", logger: null });
    const options = { keyType: "all", useCase: "Settings", key: "1", defaultConfig: LOCAL };
    const load = (): Promise<string> => cache.enable(() => cache.getOrLoad(settings, options));
    const call = load();
    await clock.advance(10);
    expect(log()).toEqual(["primary@0", "hedge@1"]);
    attempts[1]?.resolve("dark");
    expect([await call, await load()]).toEqual(["dark", "dark"]);
  });
});

describe("stats().sources", () => {
  it("has each source that use cases call, and no other", async () => {
    installed();
    const { cache, attempts, load, users } = rig(2, { failover: {}, breaker: {} });
    source(() => 1, { name: "unused" });
    const call = load();
    attempts[0]?.reject(connectionError());
    await soon();
    attempts[1]?.resolve("Ada");
    await call;
    const { users: counted, ...others } = cache.stats().sources;
    expect(others).toEqual({});
    expect(counted).toEqual(users.stats());
    expect(counted).toMatchObject({
      attempts: { primary: { error: 1 }, failover: { ok: 1 } },
      originOverhead: 1,
      hedgeDelayMs: null,
      hedgeTokens: null,
      breakers: ["closed", "closed"],
    });
  });
});
