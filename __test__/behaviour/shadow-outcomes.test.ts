import { RedisReadTimeoutError } from "dialcache-native";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import { Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import type { ReadResult } from "../support/clients";
import { deferred, never } from "../support/deferred";
import { useCaseStats } from "../support/rig";
import { RAMPED_DOWN, type ShadowOptions, type ShadowWorld, shadowWorld, stored } from "../support/shadow";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const OLD = { name: "Ada", v: 1 };
const NEW = { name: "Ada", v: 2 };
const WALL = 1_700_000_000_000;

/** What the caller got, and what was made of it in the background. */
async function afterOneCall(world: ShadowWorld): Promise<unknown> {
  const value = await world.load();
  await world.settle();
  return value;
}

function events(world: ShadowWorld) {
  return {
    outcomes: world.outcomes(),
    told: world.metrics.of("shadowValidation").map(({ labels }) => labels),
    ages: world.metrics.of("observeShadowValueAge").map(({ labels: { outcome }, value }) => [outcome, value]),
    errors: world.metrics
      .of("error")
      .map(({ labels: { layer, error, inFallback } }) => `${layer} ${error} ${inFallback}`),
    inFlight: world.inFlight(),
    timers: world.cache.stats().timers.armed,
    warnings: world.log.warnings.length,
  };
}

/** What `events()` is when one job has ended so. */
function ended(outcome: string, { age, error }: { age?: number; error?: string } = {}) {
  return {
    outcomes: { [outcome]: 1 },
    told: [{ cacheNamespace: "urn", useCase: "GetUser", keyType: "user_id", outcome }],
    ages: age === undefined ? [] : [[outcome, age]],
    errors: error === undefined ? [] : [`remote_shadow ${error} false`],
    inFlight: 0,
    timers: 0,
    warnings: 0,
  };
}

describe("A served hit, compared with a run of the source", () => {
  const served = (replies: ShadowOptions["replies"], options: ShadowOptions = {}) =>
    shadowWorld({ replies: replies ?? [], ...options });

  it("match: they agree", async () => {
    const world = served([stored(OLD, WALL - 7_500)]);
    world.source.mockResolvedValue({ ...OLD });
    expect(await afterOneCall(world)).toEqual(OLD);
    expect(events(world)).toEqual(ended("match", { age: 7.5 }));
    expect(world.source.mock.calls).toEqual([["1"]]);
    expect(world.client.log).toEqual(["read"]);
  });

  it("mismatch: they differ, and Redis still holds the same bytes", async () => {
    const world = served([stored(OLD, WALL - 7_500), stored(OLD, WALL - 7_500)]);
    world.source.mockResolvedValue(NEW);
    expect(await afterOneCall(world)).toEqual(OLD);
    expect(events(world)).toEqual(ended("mismatch", { age: 7.5 }));
    expect(world.client.reads.map(({ request }) => request)).toEqual([
      { valueKey: "urn:user_id:1#GetUser:dialcache-frame-v1" },
      { valueKey: "urn:user_id:1#GetUser:dialcache-frame-v1" },
    ]);
    expect(world.client.writes).toHaveLength(0);
  });

  it("no age, when the client does not tell when the value was written", async () => {
    const world = served([stored(OLD)]);
    world.source.mockResolvedValue(OLD);
    await afterOneCall(world);
    expect(events(world)).toEqual(ended("match"));
  });

  it("an age of 0, when the clock that stamped the value is ahead", async () => {
    const world = served([stored(OLD, WALL + 5_000)]);
    world.source.mockResolvedValue(OLD);
    await afterOneCall(world);
    expect(events(world)).toEqual(ended("match", { age: 0 }));
  });

  it.each<[string, ReadResult]>([
    ["other bytes", stored(NEW, WALL)],
    ["the same value in other bytes", '{"v":1,"name":"Ada"}'],
    ["the same bytes as a Buffer", Buffer.from(JSON.stringify(OLD))],
    ["nothing", null],
  ])("superseded: they differ, and Redis then holds %s", async (_title, again) => {
    const world = served([stored(OLD, WALL - 1_000), again]);
    world.source.mockResolvedValue(NEW);
    expect(await afterOneCall(world)).toEqual(OLD);
    expect(events(world)).toEqual(ended("superseded"));
  });

  it("mismatch of bytes: a Buffer is compared by its content", async () => {
    const world = served([Buffer.from(JSON.stringify(OLD)), Buffer.from(JSON.stringify(OLD))]);
    world.source.mockResolvedValue(NEW);
    await afterOneCall(world);
    expect(events(world)).toEqual(ended("mismatch"));
  });

  it("source_error: the source rejects, or throws at once", async () => {
    for (const fail of [
      () => Promise.reject(new Error("no")),
      () => {
        throw new Error("no");
      },
    ]) {
      const world = served([stored(OLD)]);
      world.source.mockImplementation(fail);
      expect(await afterOneCall(world)).toEqual(OLD);
      expect(events(world)).toEqual(ended("source_error"));
    }
  });

  it("deserialization_error: the payload that served the caller does not load again, and is left alone", async () => {
    for (const again of [
      () => {
        throw new Error("no");
      },
      () => Promise.reject(new Error("no")),
    ]) {
      const load = vi
        .fn<(payload: string | Buffer) => unknown>()
        .mockReturnValueOnce(OLD)
        .mockImplementationOnce(again);
      const world = served([stored(OLD)], { serializer: { dump: JSON.stringify, load } });
      world.source.mockResolvedValue(OLD);
      expect(await afterOneCall(world)).toEqual(OLD);
      expect(events(world)).toEqual(ended("deserialization_error", { error: "serialization_load" }));
      expect(world.client.writes).toHaveLength(0);
    }
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["answers undefined", () => undefined],
    ["answers a truthy number", () => 1],
    ["answers a promise", async () => true],
    ["answers a promise that rejects", () => Promise.reject(new Error("no"))],
    [
      "answers a thenable that rejects",
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
      () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error("no")) }),
    ],
    [
      "answers something whose then cannot be read",
      () =>
        // biome-ignore lint/suspicious/noThenProperty: as above
        Object.defineProperty({}, "then", {
          get: () => {
            throw new Error("no");
          },
        }),
    ],
  ])("comparison_error: the comparator %s", async (_title, comparator) => {
    const world = served([stored(OLD)], { comparator });
    world.source.mockResolvedValue(OLD);
    expect(await afterOneCall(world)).toEqual(OLD);
    expect(events(world)).toEqual(ended("comparison_error"));
  });

  it("confirmation_error: they differ, and the read that should confirm it fails or times out", async () => {
    const failing = served([stored(OLD), new Error("down")]);
    failing.source.mockResolvedValue(NEW);
    await afterOneCall(failing);
    expect(events(failing)).toEqual(ended("confirmation_error", { error: "cache_read" }));

    const reply = deferred<ReadResult>();
    const hanging = served([stored(OLD), reply.promise]);
    hanging.source.mockResolvedValue(NEW);
    await afterOneCall(hanging);
    await hanging.clock.advance(49);
    expect(hanging.outcomes()).toEqual({});
    await hanging.clock.advance(1);
    expect(hanging.outcomes()).toEqual({ confirmation_error: 1 });
    const { context } = hanging.client.reads[1] as (typeof hanging.client.reads)[number];
    expect(context?.timeoutMs).toBe(50);
    expect(context?.signal.reason).toBeInstanceOf(RedisReadTimeoutError);
    expect(hanging.inFlight(), "the client still reads").toBe(1);
    reply.resolve(stored(OLD));
    await hanging.settle();
    expect(events(hanging)).toEqual(ended("confirmation_error", { error: "cache_read" }));
  });

  it("timeout: the source takes longer than fallbackTimeoutMs, and keeps the job's place until it settles", async () => {
    const slow = deferred<unknown>();
    const world = served([stored(OLD), stored(OLD), stored(OLD)]);
    world.source.mockReturnValueOnce(slow.promise);
    await afterOneCall(world);
    await world.clock.advance(999);
    expect(world.outcomes()).toEqual({});
    await world.clock.advance(1);
    expect(world.outcomes()).toEqual({ timeout: 1 });
    expect(world.inFlight()).toBe(1);

    await afterOneCall(world);
    expect(world.outcomes()).toEqual({ timeout: 1, dropped: 1 });
    slow.resolve(NEW);
    await world.settle();
    expect(world.inFlight(), "nothing was begun after it").toBe(0);
    expect(world.client.reads).toHaveLength(2);
    world.source.mockResolvedValue(OLD);
    await afterOneCall(world);
    expect(world.outcomes()).toEqual({ timeout: 1, dropped: 1, match: 1 });
  });

  it("timeout: without fallbackTimeoutMs, after a minute", async () => {
    const world = served([stored(OLD)], { fallbackTimeoutMs: null });
    world.source.mockReturnValue(never());
    await afterOneCall(world);
    await world.clock.advance(59_999);
    expect(world.outcomes()).toEqual({});
    await world.clock.advance(1);
    expect(world.outcomes()).toEqual({ timeout: 1 });
  });

  it("timeout: a serializer that takes too long is followed by no comparison", async () => {
    const slow = deferred<unknown>();
    const load = vi.fn().mockReturnValueOnce(OLD).mockReturnValueOnce(slow.promise);
    const comparator = vi.fn(() => true);
    const world = served([stored(OLD)], { serializer: { dump: JSON.stringify, load }, comparator });
    world.source.mockResolvedValue(OLD);
    await afterOneCall(world);
    await world.clock.advance(1_000);
    slow.resolve(OLD);
    await world.settle();
    expect(comparator).not.toHaveBeenCalled();
    expect(events(world)).toEqual(ended("timeout"));
  });

  it("timeout: a confirming read has what is left of the job's time", async () => {
    const world = served([stored(OLD), never()]);
    const slow = deferred<unknown>();
    world.source.mockReturnValue(slow.promise);
    await afterOneCall(world);
    await world.clock.advance(990);
    slow.resolve(NEW);
    await world.settle();
    expect(world.client.reads).toHaveLength(2);
    await world.clock.advance(10);
    expect(world.outcomes()).toEqual({ timeout: 1 });
    expect(world.client.reads[1]?.context?.signal.aborted).toBe(true);
  });
});

describe("Outside the ramp, Redis is read beside the call's own source", () => {
  const ramped = (replies: ShadowOptions["replies"], options: ShadowOptions = {}) =>
    shadowWorld({ config: RAMPED_DOWN, replies: replies ?? [], ...options });

  it("match, with what the caller got: the source runs once", async () => {
    const world = ramped([stored(OLD, WALL - 2_000)]);
    world.source.mockResolvedValue(OLD);
    expect(await afterOneCall(world)).toEqual(OLD);
    expect(events(world)).toEqual(ended("match", { age: 2 }));
    expect(world.source).toHaveBeenCalledTimes(1);
    expect(world.client.log).toEqual(["read"]);
  });

  it("mismatch and superseded: Redis is read once more", async () => {
    for (const [again, outcome] of [
      [stored(OLD), "mismatch"],
      [null, "superseded"],
    ] as const) {
      const world = ramped([stored(OLD), again]);
      world.source.mockResolvedValue(NEW);
      expect(await afterOneCall(world)).toEqual(NEW);
      expect(events(world)).toEqual(ended(outcome));
      expect(world.client.log).toEqual(["read", "read"]);
    }
  });

  it("filled: Redis held nothing, and takes the value with its TTL", async () => {
    const world = ramped([null]);
    world.client.autoWrite = () => true;
    world.source.mockResolvedValue(NEW);
    expect(await afterOneCall(world)).toEqual(NEW);
    expect(events(world)).toEqual(ended("filled"));
    expect(world.client.writes.map(({ request }) => request)).toEqual([
      { valueKey: "urn:user_id:1#GetUser:dialcache-frame-v1", cacheTtlMs: 60_000, value: JSON.stringify(NEW) },
    ]);
  });

  it.each(["the source", "Redis"])("filled, whoever is slower: %s", async (slower) => {
    const reply = deferred<ReadResult>();
    const result = deferred<unknown>();
    const world = ramped([reply.promise]);
    world.client.autoWrite = () => true;
    world.source.mockReturnValue(result.promise);
    const call = world.load();
    await world.settle();
    expect(world.client.reads, "read beside the source").toHaveLength(1);
    const [first, second] = slower === "Redis" ? [result, reply] : [reply, result];
    first.resolve(slower === "Redis" ? (NEW as never) : null);
    await world.settle();
    expect(world.client.writes).toHaveLength(0);
    second.resolve(slower === "Redis" ? null : (NEW as never));
    expect(await call).toEqual(NEW);
    await world.settle();
    expect(events(world)).toEqual(ended("filled"));
  });

  it("fill_blocked: the stamp refuses the value", async () => {
    const world = ramped([null]);
    world.client.autoWrite = () => false;
    world.source.mockResolvedValue(NEW);
    await afterOneCall(world);
    expect(events(world)).toEqual(ended("fill_blocked"));
  });

  it("fill_error: the write fails, or the serializer rejects the value", async () => {
    const failing = ramped([null]);
    failing.client.autoWrite = () => Promise.reject(new Error("down"));
    failing.source.mockResolvedValue(NEW);
    expect(await afterOneCall(failing)).toEqual(NEW);
    expect(events(failing)).toEqual(ended("fill_error", { error: "cache_write" }));

    for (const dump of [
      () => {
        throw new Error("no");
      },
      () => Promise.reject(new Error("no")),
      () => 5 as never,
      () => "\ud800",
    ]) {
      const world = ramped([null], { serializer: { dump, load: JSON.parse as never } });
      world.source.mockResolvedValue(NEW);
      expect(await afterOneCall(world)).toEqual(NEW);
      expect(events(world)).toEqual(ended("fill_error", { error: "serialization_dump" }));
      expect(world.client.writes).toHaveLength(0);
    }
  });

  it("redis_error: Redis cannot be read, or not in time", async () => {
    const failing = ramped([new Error("down")]);
    failing.source.mockResolvedValue(NEW);
    expect(await afterOneCall(failing)).toEqual(NEW);
    expect(events(failing)).toEqual(ended("redis_error", { error: "cache_read" }));

    const reply = deferred<ReadResult>();
    const hanging = ramped([reply.promise]);
    hanging.source.mockResolvedValue(NEW);
    await afterOneCall(hanging);
    await hanging.clock.advance(50);
    expect(hanging.outcomes()).toEqual({ redis_error: 1 });
    expect(hanging.inFlight()).toBe(1);
    reply.resolve(null);
    await hanging.settle();
    expect(events(hanging)).toEqual(ended("redis_error", { error: "cache_read" }));
    expect(hanging.client.writes, "a failed read is followed by no write").toHaveLength(0);
  });

  it("source_error: the source fails or times out, the caller hears of it, and nothing is filled", async () => {
    const failure = new Error("no such user");
    const failing = ramped([null]);
    failing.source.mockRejectedValue(failure);
    await expect(failing.load()).rejects.toBe(failure);
    await failing.settle();
    expect(failing.outcomes()).toEqual({ source_error: 1 });

    const slow = ramped([null]);
    slow.source.mockReturnValue(never());
    const call = slow.load();
    const refused = expect(call).rejects.toMatchObject({ code: "DIALCACHE_FALLBACK_TIMEOUT" });
    await slow.settle();
    await slow.clock.advance(1_000);
    await refused;
    expect(slow.outcomes()).toEqual({ source_error: 1 });
    for (const world of [failing, slow]) {
      expect(world.client.writes).toHaveLength(0);
      expect(world.inFlight()).toBe(0);
    }
  });

  it("deserialization_error: the payload does not load, and is not repaired", async () => {
    const world = ramped(["not JSON"]);
    world.source.mockResolvedValue(NEW);
    expect(await afterOneCall(world)).toEqual(NEW);
    expect(events(world)).toEqual(ended("deserialization_error", { error: "serialization_load" }));
    expect(world.client.writes).toHaveLength(0);
  });

  it("comparison_error", async () => {
    const world = ramped([stored(OLD)], { comparator: () => "yes" });
    world.source.mockResolvedValue(OLD);
    await afterOneCall(world);
    expect(events(world)).toEqual(ended("comparison_error"));
  });

  it("timeout: the write that was begun keeps the job's place", async () => {
    const world = ramped([null]);
    world.source.mockResolvedValue(NEW);
    await afterOneCall(world);
    expect(world.client.writes).toHaveLength(1);
    await world.clock.advance(1_000);
    expect(world.outcomes()).toEqual({ timeout: 1 });
    expect(world.inFlight()).toBe(1);
    world.client.writes[0]?.resolve(true);
    await world.settle();
    expect(events(world)).toEqual(ended("timeout"));
  });
});

describe("What a job does is told with the layer remote_shadow, and nowhere as a call's", () => {
  it("durations and sizes", async () => {
    const served = shadowWorld({ replies: [stored(OLD), stored(OLD)] });
    served.source.mockResolvedValue(NEW);
    await afterOneCall(served);
    const filled = shadowWorld({ config: RAMPED_DOWN, replies: [null] });
    filled.client.autoWrite = () => true;
    filled.source.mockResolvedValue(NEW);
    await afterOneCall(filled);
    const observed = ({ metrics }: ShadowWorld) =>
      metrics.events
        .filter(({ method }) => method.startsWith("observe") && method !== "observeFallback")
        .map(({ method, labels: { layer, operation } }) => `${method} ${layer} ${operation ?? ""}`.trim());
    expect(observed(served)).toEqual([
      "observeSerialization remote load",
      "observeGet remote",
      "observeSerialization remote_shadow load",
      "observeGet remote_shadow",
    ]);
    expect(observed(filled)).toEqual([
      "observeSerialization remote_shadow dump",
      "observeSize remote_shadow",
      "observeGet remote_shadow",
      "observeStoredSize remote_shadow",
    ]);
    const counted = useCaseStats(served.cache, "GetUser");
    expect(counted).toMatchObject({ sourceCalls: 0, requests: { remote: 1 }, hits: { remote: 1 } });
    expect(useCaseStats(filled.cache, "GetUser")).toMatchObject({
      sourceCalls: 1,
      requests: { remote: 0 },
      writes: { ok: 0, skipped: 0 },
    });
  });

  it("outcomes are counted for adapters that read the counters themselves, and ages are observed", async () => {
    const registry = new Registry();
    const metrics = createPrometheusDialCacheMetrics({ registry });
    const world = shadowWorld({ replies: [stored(OLD, WALL - 3_000)], instance: { metrics } });
    world.source.mockResolvedValue(OLD);
    await afterOneCall(world);
    const scraped = await registry.metrics();
    expect(scraped).toMatch(/dialcache_shadow_validation_counter\{[^}]*outcome="match"[^}]*\} 1\n/);
    expect(scraped).toMatch(/dialcache_shadow_value_age_histogram_sum\{[^}]*outcome="match"[^}]*\} 3\n/);
  });
});
