import { DialCache, DialCacheKeyConfig, type DialCacheKeyConfigInit } from "dialcache-native";
import { describe, expect, it } from "vitest";
import type { ReadResult } from "../support/clients";
import { deferred } from "../support/deferred";
import { useCaseStats } from "../support/rig";
import { RAMPED_DOWN, SERVED, type ShadowWorld, shadowWorld, stored, USE_CASE } from "../support/shadow";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const policy = (init: DialCacheKeyConfigInit) => new DialCacheKeyConfig(init);
const SHADOWED = { shadow: { ramp: 100 } };

/** Everything a call could have begun in the background. */
async function background(world: ShadowWorld) {
  await world.settle();
  return {
    outcomes: world.outcomes(),
    inFlight: world.inFlight(),
    reads: world.client.reads.length,
    sources: world.source.mock.calls.length,
  };
}

describe("No job, because the call does not reach the Redis layer", () => {
  it.each<[string, DialCacheKeyConfig]>([
    ["there is no TTL", policy({ ...SHADOWED, ttlSec: { local: 60 } })],
    ["there is no TTL, only a ramp", policy({ ...SHADOWED, ramp: { remote: 0 } })],
    ["nothing is on", policy(SHADOWED)],
  ])("%s", async (_title, config) => {
    const world = shadowWorld({ config });
    world.source.mockResolvedValue(1);
    await world.load();
    expect(await background(world)).toEqual({ outcomes: {}, inFlight: 0, reads: 0, sources: 1 });
  });

  it.each<[string, DialCacheKeyConfigInit]>([
    ["an invalid TTL", { ttlSec: { remote: 0.5 }, ramp: { remote: 0 } }],
    ["an invalid ramp", { ramp: { remote: 101 } }],
  ])("%s, from the provider", async (_title, init) => {
    const world = shadowWorld({ instance: { cacheConfigProvider: () => policy(init) } });
    world.source.mockResolvedValue(1);
    await world.load();
    expect(await background(world)).toEqual({ outcomes: {}, inFlight: 0, reads: 0, sources: 1 });
  });

  it.each<[string, () => never | Promise<never>]>([
    [
      "a provider that throws",
      () => {
        throw new Error("no");
      },
    ],
    ["a provider that rejects", () => Promise.reject(new Error("no"))],
  ])("%s", async (_title, cacheConfigProvider) => {
    const world = shadowWorld({ instance: { cacheConfigProvider } });
    world.source.mockResolvedValue(1);
    await world.load();
    expect(await background(world)).toEqual({ outcomes: {}, inFlight: 0, reads: 0, sources: 1 });
  });

  it("outside any scope", async () => {
    const world = shadowWorld();
    const plain = world.cache.cached(async (id: string) => `${id}!`, {
      keyType: "user_id",
      useCase: "Plain",
      cacheKey: (id) => id,
      defaultConfig: SERVED,
    });
    await plain("1");
    await world.cache.disable(() => plain("1"));
    expect(await background(world)).toMatchObject({ inFlight: 0, reads: 0 });
    expect(useCaseStats(world.cache, "Plain").shadow).toEqual({});
  });

  it("a hit in the process, and one in the request", async () => {
    const config = policy({ ...SHADOWED, ttlSec: { local: 60, remote: 60 }, requestLocal: true });
    const world = shadowWorld({ config, replies: [stored(1)] });
    world.source.mockResolvedValue(1);
    await world.load();
    expect(await background(world)).toEqual({ outcomes: { match: 1 }, inFlight: 0, reads: 1, sources: 1 });
    await world.cache.enable(() => Promise.all([world.load(), world.load()]));
    expect(await background(world)).toEqual({ outcomes: { match: 1 }, inFlight: 0, reads: 1, sources: 1 });
  });

  it("there is no Redis", async () => {
    const cache = new DialCache();
    const load = cache.cached(async () => 1, {
      keyType: "user_id",
      useCase: "A",
      cacheKey: () => "1",
      defaultConfig: RAMPED_DOWN,
    });
    expect(await cache.enable(() => load())).toBe(1);
    expect(cache.stats()).toMatchObject({ useCases: { A: { shadow: {} } }, shadow: { inFlight: 0, maxInFlight: 1 } });
  });

  it("the instance is closed, before the call or while it reads", async () => {
    const reply = deferred<ReadResult>();
    const world = shadowWorld({ replies: [reply.promise] });
    world.source.mockResolvedValue(1);
    const call = world.load();
    await world.cache.close();
    reply.resolve(stored(2));
    expect(await call).toBe(1);
    await world.load("2");
    expect(await background(world)).toEqual({ outcomes: {}, inFlight: 0, reads: 1, sources: 2 });
  });
});

describe("No job, because Redis served nothing", () => {
  it.each<[string, ReadResult | Error]>([
    ["a miss", null],
    ["a failed read", new Error("down")],
    ["a payload that does not load", "not JSON"],
  ])("%s", async (_title, reply) => {
    const world = shadowWorld({ replies: [reply] });
    world.client.autoWrite = () => true;
    world.source.mockResolvedValue(1);
    expect(await world.load()).toBe(1);
    expect(await background(world)).toEqual({ outcomes: {}, inFlight: 0, reads: 1, sources: 1 });
  });

  it("a read that times out", async () => {
    const reply = deferred<ReadResult>();
    const world = shadowWorld({ replies: [reply.promise] });
    world.source.mockResolvedValue(1);
    const call = world.load();
    await world.clock.advance(50);
    expect(await call).toBe(1);
    reply.resolve(stored(2));
    expect(await background(world)).toEqual({ outcomes: {}, inFlight: 0, reads: 1, sources: 1 });
  });
});

describe("Which keys are sampled", () => {
  it("those whose hash of key and `shadow` is below the ramp", async () => {
    // FNV-1a of `urn:user_id:123#GetUser:shadow` is 0x7bf4a309: 48.42 %.
    for (const [ramp, outcomes] of [
      [48.4, {}],
      [48.5, { match: 1 }],
      [0, {}],
    ] as const) {
      const world = shadowWorld({
        config: policy({ ttlSec: { remote: 60 }, shadow: { ramp } }),
        replies: [stored(1)],
      });
      world.source.mockResolvedValue(1);
      await world.load("123");
      expect((await background(world)).outcomes).toEqual(outcomes);
    }
  });

  it("whatever their place in the Redis layer's ramp: each gets the job of its side", async () => {
    const config = policy({ ttlSec: { remote: 60 }, ramp: { remote: 50 }, ...SHADOWED });
    const world = shadowWorld({ config, instance: { shadowMaxInFlight: 100 } });
    world.client.autoRead = () => null;
    world.client.autoWrite = () => true;
    world.source.mockResolvedValue(1);
    for (let id = 0; id < 40; id += 1) await world.load(String(id));
    await world.settle();
    const { requests, disabled } = world.cache.stats().useCases[USE_CASE] as never as {
      requests: { remote: number };
      disabled: { remote: number };
    };
    expect(requests.remote + disabled.remote).toBe(40);
    expect(requests.remote).toBeGreaterThan(5);
    // Misses that are served are written by their calls; only those outside the ramp have a job.
    expect(world.outcomes()).toEqual({ filled: disabled.remote });
  });
});

describe("The provider's leaves", () => {
  const provided = (init: DialCacheKeyConfigInit | null, config: DialCacheKeyConfig) =>
    shadowWorld({
      config,
      replies: [stored(1), stored(1)],
      instance: { cacheConfigProvider: async () => (init === null ? null : policy(init)) },
    });

  it.each<[string, DialCacheKeyConfigInit | null, DialCacheKeyConfig, object]>([
    ["turn it on", { shadow: { ramp: 100 } }, policy({ ttlSec: { remote: 60 } }), { mismatch: 1 }],
    ["turn it off", { shadow: { ramp: 0 } }, SERVED, {}],
    ["leave it alone", { shadow: { logMismatches: true } }, SERVED, { mismatch: 1 }],
    ["leave it alone, being null", null, SERVED, { mismatch: 1 }],
    ["ramp the key out", { ramp: { remote: 0 } }, SERVED, { mismatch: 1 }],
  ])("%s", async (_title, init, config, outcomes) => {
    const world = provided(init, config);
    world.source.mockResolvedValue(2);
    await world.load();
    expect((await background(world)).outcomes).toEqual(outcomes);
  });

  it("turn the log on and off, apart from the ramp", async () => {
    const logged = policy({ ttlSec: { remote: 60 }, shadow: { ramp: 100, logMismatches: true } });
    for (const [init, config, warnings] of [
      [{ shadow: { logMismatches: true } }, SERVED, 1],
      [{ shadow: { logMismatches: false } }, logged, 0],
      [{ shadow: { ramp: 100 } }, logged, 1],
    ] as const) {
      const world = provided(init, config);
      world.source.mockResolvedValue(2);
      await world.load();
      expect((await background(world)).outcomes).toEqual({ mismatch: 1 });
      expect(world.log.warnings).toHaveLength(warnings);
    }
  });

  it.each([-1, 100.5, Number.NaN, Number.POSITIVE_INFINITY, "100" as never])(
    "a ramp of %s: no job, one error of the configuration, and nothing else changes",
    async (ramp) => {
      const world = provided({ shadow: { ramp } }, SERVED);
      world.source.mockResolvedValue(2);
      expect(await world.load()).toBe(1);
      expect(await background(world)).toEqual({ outcomes: {}, inFlight: 0, reads: 1, sources: 0 });
      expect(world.metrics.of("error").map(({ labels }) => labels)).toEqual([
        {
          cacheNamespace: "urn",
          useCase: "GetUser",
          keyType: "user_id",
          layer: "remote_shadow",
          error: "config_resolution",
          inFallback: false,
        },
      ]);
      expect(world.metrics.count("disabled", { layer: "remote" })).toBe(0);
      expect(world.cache.stats().useCases[USE_CASE]?.errors).toEqual({ config_resolution: 1 });
    },
  );

  it("a ramp that is none matters only where it would have: not for a hit in the process", async () => {
    const world = shadowWorld({
      config: policy({ ttlSec: { local: 60, remote: 60 } }),
      replies: [stored(1)],
      instance: { cacheConfigProvider: () => policy({ shadow: { ramp: -1 } }) },
    });
    await world.load();
    await world.load();
    expect(world.metrics.count("error")).toBe(1);
  });
});

describe("One job a key, and as many as shadowMaxInFlight", () => {
  it("followers have none", async () => {
    const reply = deferred<ReadResult>();
    const world = shadowWorld({ replies: [reply.promise], instance: { shadowMaxInFlight: 10 } });
    world.source.mockResolvedValue(1);
    const calls = Promise.all([world.load(), world.load(), world.load()]);
    reply.resolve(stored(1));
    expect(await calls).toEqual([1, 1, 1]);
    expect(await background(world)).toEqual({ outcomes: { match: 1 }, inFlight: 0, reads: 1, sources: 1 });
  });

  it("leaders of one key that share nothing: the first has one, the others are dropped", async () => {
    const config = policy({ ttlSec: { remote: 60 }, coalesce: false, ...SHADOWED });
    const world = shadowWorld({
      config,
      replies: [stored(1), stored(1), stored(1)],
      instance: { shadowMaxInFlight: 10 },
    });
    world.source.mockResolvedValue(1);
    expect(await Promise.all([world.load(), world.load(), world.load()])).toEqual([1, 1, 1]);
    expect(await background(world)).toEqual({
      outcomes: { match: 1, dropped: 2 },
      inFlight: 0,
      reads: 3,
      sources: 1,
    });
  });

  it("leaders of one key outside the ramp likewise: one read, one fill", async () => {
    const world = shadowWorld({ config: RAMPED_DOWN, replies: [null], instance: { shadowMaxInFlight: 10 } });
    world.client.autoWrite = () => true;
    world.source.mockResolvedValue(1);
    await Promise.all([world.load(), world.load(), world.load()]);
    expect(await background(world)).toEqual({
      outcomes: { filled: 1, dropped: 2 },
      inFlight: 0,
      reads: 1,
      sources: 3,
    });
    expect(world.client.writes).toHaveLength(1);
  });

  it.each([1, 3])("%s at once", async (shadowMaxInFlight) => {
    const world = shadowWorld({ instance: { shadowMaxInFlight } });
    world.client.autoRead = () => stored(1);
    const gate = deferred<number>();
    world.source.mockReturnValue(gate.promise);
    for (let id = 0; id < 5; id += 1) await world.load(String(id));
    await world.settle();
    expect(world.inFlight()).toBe(shadowMaxInFlight);
    expect(world.source).toHaveBeenCalledTimes(shadowMaxInFlight);
    expect(world.outcomes()).toEqual({ dropped: 5 - shadowMaxInFlight });
    gate.resolve(1);
    await world.settle();
    expect(world.inFlight()).toBe(0);
    expect(world.outcomes()).toEqual({ dropped: 5 - shadowMaxInFlight, match: shadowMaxInFlight });
  });

  it("use cases share the room, and one id of two use cases is two keys", async () => {
    const world = shadowWorld({ instance: { shadowMaxInFlight: 2 } });
    world.client.autoRead = () => stored(1);
    world.source.mockResolvedValue(1);
    const other = world.cache.cached(async () => 1, {
      keyType: "user_id",
      useCase: "Other",
      cacheKey: () => "1",
      defaultConfig: SERVED,
    });
    await Promise.all([world.load("1"), world.cache.enable(() => other())]);
    await world.settle();
    expect(world.outcomes()).toEqual({ match: 1 });
    expect(useCaseStats(world.cache, "Other").shadow).toEqual({ match: 1 });
  });

  it("getOrLoad() is shadowed like a registered function", async () => {
    const world = shadowWorld({ replies: [stored(1), stored(1)] });
    let runs = 0;
    const value = await world.cache.enable(() =>
      world.cache.getOrLoad(() => ++runs + 1, {
        keyType: "user_id",
        useCase: "Inline",
        key: "1",
        defaultConfig: SERVED,
        shadowComparator: (cached, source) => cached === source,
      }),
    );
    await world.settle();
    expect([value, runs]).toEqual([1, 1]);
    expect(useCaseStats(world.cache, "Inline").shadow).toEqual({ mismatch: 1 });
  });
});
