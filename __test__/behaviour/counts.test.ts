import { DialCacheKeyConfig, RedisReadTimeoutError } from "dialcache-native";
import { describe, expect, it } from "vitest";
import { errorOf } from "../support/recorders";
import { CLIENT_RIGS, DRIVEN_RIGS, LOCAL_ONLY, REMOTE_ONLY, RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const ALL = new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true });

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);
  const healthy = { readTimeoutMs: 10_000 };

  it("each event of a cold call is counted exactly once, with its labels, and agrees with stats()", async () => {
    const world = await rig.world(healthy);
    const load = world.load("GetUser", async () => "source", { defaultConfig: ALL });
    await load("1");
    await world.written();
    const labels = (layer: string) => ({
      cacheNamespace: world.namespace,
      useCase: "GetUser",
      keyType: "user_id",
      layer,
    });
    for (const layer of ["request_local", "local", "remote"]) {
      expect(world.metrics.of("request", { layer }).map((event) => event.labels)).toEqual([labels(layer)]);
      expect(world.metrics.of("miss", { layer })).toHaveLength(1);
    }
    expect(world.metrics.of("observeFallback")).toHaveLength(1);
    expect(world.metrics.of("observeFallback")[0]?.value).toBeGreaterThanOrEqual(0);
    expect(world.metrics.of("observeGet", { layer: "remote" })).toHaveLength(1);
    expect(world.metrics.of("observeSerialization").map((event) => event.labels)).toEqual([
      { ...labels("remote"), operation: "dump" },
    ]);
    expect(world.metrics.of("observeSize")).toMatchObject([{ labels: labels("remote"), value: 8 }]);
    expect(world.metrics.count("error")).toBe(0);
    expect(world.metrics.count("disabled")).toBe(0);
    expect(world.metrics.count("coalesced")).toBe(0);
    expect(world.stats("GetUser")).toMatchObject({
      keyType: "user_id",
      requests: { request_local: 1, local: 1, remote: 1 },
      hits: { request_local: 0, local: 0, remote: 0 },
      misses: { request_local: 1, local: 1, remote: 1 },
      coalesced: { process: 0, request_local: 0 },
      readDeadlinesArmed: 1,
      readTimeouts: 0,
      fallbackTimeouts: 0,
      sourceCalls: 1,
      writes: { ok: 1, failed: 0 },
    });
  });

  it("each event of a Redis hit and of a local hit", async () => {
    const world = await rig.world(healthy);
    const load = world.load("GetUser", async () => "source", { defaultConfig: DialCacheKeyConfig.enabled(60) });
    await world.plant("GetUser", "1", '"redis"');
    await load("1");
    await load("1");
    expect(world.metrics.count("request", { layer: "local" })).toBe(2);
    expect(world.metrics.count("miss", { layer: "local" })).toBe(1);
    expect(world.metrics.count("request", { layer: "remote" })).toBe(1);
    expect(world.metrics.count("miss", { layer: "remote" })).toBe(0);
    expect(world.metrics.count("observeSerialization", { layer: "remote", operation: "load" })).toBe(1);
    expect(world.metrics.count("observeFallback")).toBe(0);
    expect(world.stats("GetUser")).toMatchObject({
      requests: { local: 2, remote: 1 },
      hits: { local: 1, remote: 1 },
      misses: { local: 1, remote: 0 },
      sourceCalls: 0,
    });
  });

  it("each disabled layer, with its reason", async () => {
    const world = await rig.world(healthy);
    const load = world.load("GetUser", async () => "source", {
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 }, ramp: { remote: 0 } }),
    });
    await load("1");
    expect(world.metrics.of("disabled").map((event) => event.labels)).toEqual([
      {
        cacheNamespace: world.namespace,
        useCase: "GetUser",
        keyType: "user_id",
        layer: "local",
        reason: "policy_disabled",
      },
      {
        cacheNamespace: world.namespace,
        useCase: "GetUser",
        keyType: "user_id",
        layer: "remote",
        reason: "ramped_down",
      },
    ]);
  });

  it("followers skip an inactive local layer as their leader does", async () => {
    const world = await rig.world(healthy);
    const load = world.load("GetUser", async () => "source", { defaultConfig: REMOTE_ONLY });
    await Promise.all([load("1"), load("1"), load("1")]);
    expect(world.metrics.count("coalesced", { scope: "process" })).toBe(2);
    expect(world.metrics.count("disabled", { layer: "local", reason: "policy_disabled" })).toBe(3);
    expect(world.metrics.count("request", { layer: "remote" })).toBe(1);
    expect(world.stats("GetUser").disabled).toEqual({ local: 3, remote: 0 });
  });

  it.each([
    ["remote", "Redis", DialCacheKeyConfig.enabled(60)],
    ["local", "the local layer alone", LOCAL_ONLY],
    ["local", "no layer", new DialCacheKeyConfig()],
    ["request_local", "the request-local layer alone", new DialCacheKeyConfig({ requestLocal: true })],
    ["remote", "every layer", ALL],
  ])(
    "a source is timed, and its failure counted, as of layer %s when it makes up for %s",
    async (layer, _for, config) => {
      const world = await rig.world(healthy);
      const load = world.load("GetUser", async () => "source", { defaultConfig: config });
      const failing = world.load("Failing", () => Promise.reject(new Error("source")), { defaultConfig: config });
      await load("1");
      await expect(failing("1")).rejects.toThrow("source");
      expect(world.metrics.of("observeFallback")).toMatchObject([{ labels: { layer } }, { labels: { layer } }]);
      expect(world.metrics.of("error").map(({ labels }) => labels)).toMatchObject([
        { layer, error: "fallback", inFallback: true },
      ]);
    },
  );

  it("a timeout: one warning with the error, one metric event, both before the call settles", async () => {
    const world = await rig.world();
    const load = world.load("GetUser", async () => "source");
    await world.server.freeze();
    let atSettlement: { warnings: number; errors: number } | undefined;
    const result = load("1").then((value) => {
      atSettlement = { warnings: world.log.warnings.length, errors: world.metrics.count("error") };
      return value;
    });
    await world.readStarted("GetUser");
    await world.lapse();
    expect(await result).toBe("source");
    expect(atSettlement).toEqual({ warnings: 1, errors: 1 });
    const error = errorOf(world.log.warnings[0]);
    expect(error).toBeInstanceOf(RedisReadTimeoutError);
    expect(error).toMatchObject({ useCase: "GetUser", timeoutMs: world.readTimeoutMs, code: expect.any(String) });
    expect(world.log.text()).not.toContain(world.key("GetUser", "1"));
    expect(world.metrics.of("error").map((event) => event.labels)).toEqual([
      {
        cacheNamespace: world.namespace,
        useCase: "GetUser",
        keyType: "user_id",
        layer: "remote",
        error: "cache_read",
        inFallback: false,
      },
    ]);
  });

  it("use cases are counted apart", async () => {
    const world = await rig.world(healthy);
    const first = world.load("First", async () => "source");
    const second = world.load("Second", async () => "source");
    await first("1");
    await first("2");
    await second("1");
    expect(world.stats("First").sourceCalls).toBe(2);
    expect(world.stats("Second").sourceCalls).toBe(1);
  });

  it.each([
    [undefined, 0],
    [false, 0],
    [true, 2],
  ])("lookups in the local layers are timed with localTimings: %s", async (localTimings, timings) => {
    const world = await rig.world({ ...healthy, config: localTimings === undefined ? {} : { localTimings } });
    const load = world.load("GetUser", async () => "source", { defaultConfig: LOCAL_ONLY });
    await load("1");
    await load("1");
    expect(world.metrics.of("observeGet", { layer: "local" })).toHaveLength(timings);
  });
});

describe.each(DRIVEN_RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  it("the time of a Redis hit is that of the read and of the serializer", async () => {
    const world = await rig.world();
    const serializer = {
      dump: () => "payload",
      load: async () => {
        await world.lapse(20);
        return "redis";
      },
    };
    const load = world.load("GetUser", async () => "source", { serializer });
    await world.plant("GetUser", "1", "payload");
    expect(await load("1")).toBe("redis");
    expect(world.metrics.of("observeSerialization", { operation: "load" })).toMatchObject([{ value: 0.02 }]);
    expect(world.metrics.of("observeGet", { layer: "remote" })).toMatchObject([{ value: 0.02 }]);
  });
});

describe.each(CLIENT_RIGS)("$client, $time: failures in stats()", (kind) => {
  const rig = useRig(kind);

  it("each kind has a number of its own, beside the errors by kind", async () => {
    const world = await rig.world({ readTimeoutMs: 10_000 });
    const bigint = world.load("GetUser", async (id): Promise<unknown> => (id === "big" ? 1n : id));
    const failing = world.load("Failing", () => Promise.reject(new Error("down")));
    await world.server.command("RPUSH", world.key("GetUser", "list"), "x");
    await world.plant("GetUser", "broken", "{not json");
    for (const id of ["list", "broken", "big"]) await bigint(id);
    await failing("1").catch(() => {});
    await world.written();
    expect(world.stats("GetUser")).toMatchObject({
      readFailures: 1,
      loadFailures: 1,
      dumpFailures: 1,
      fallbackFailures: 0,
      readTimeouts: 0,
      errors: { cache_read: 1, serialization_load: 1, serialization_dump: 1 },
    });
    expect(world.stats("Failing")).toMatchObject({ fallbackFailures: 1, fallbackTimeouts: 0, errors: { fallback: 1 } });
  });

  it("a use case whose key type is no text is counted under what UTF-8 makes of it", async () => {
    const world = await rig.world();
    const load = world.load("GetUser", async (id) => id, { keyType: "user\ud800" });
    expect(await load("1")).toBe("1");
    expect(world.stats("GetUser")).toMatchObject({
      keyType: "user\ufffd",
      errors: { key_construction: 1 },
      sourceCalls: 1,
    });
    expect(world.metrics.of("error").map(({ labels: { keyType } }) => keyType)).toEqual(["user\ufffd"]);
  });
});
