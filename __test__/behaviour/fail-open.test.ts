import { DialCache, DialCacheKeyConfig, type DialCacheRedisClient } from "dialcache-native";
import { installClock, manualClock } from "dialcache-native/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ScriptedClient } from "../support/clients";
import { never } from "../support/deferred";
import { errorOf, hostileMetrics, recordLogger, recordMetrics } from "../support/recorders";
import { CLIENT_RIGS, LOCAL_ONLY, loader, REMOTE_ONLY, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const broken = new Error("broken");
const FAILS: readonly [name: string, fail: () => never | Promise<never>][] = [
  [
    "throws",
    () => {
      throw broken;
    },
  ],
  ["rejects", () => Promise.reject(broken)],
];

describe.each(CLIENT_RIGS)("$client", (kind) => {
  const rig = useRig(kind);
  const healthy = { readTimeoutMs: 10_000 };

  it("a key selector that throws: the source runs uncached", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = world.cache.cached(source, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (): string => {
        throw broken;
      },
      defaultConfig: DialCacheKeyConfig.enabled(60),
    });
    expect(await world.cache.enable(() => load())).toBe("source");
    expect(await world.cache.enable(() => load())).toBe("source");
    expect(source).toHaveBeenCalledTimes(2);
    expect(world.metrics.count("error", { error: "key_construction", layer: "noop", inFallback: false })).toBe(2);
    expect(world.log.warnings).toHaveLength(2);
    expect(world.log.warnings[0]?.args).toContain(broken);
    expect(await world.calls("get")).toBe(0);
  });

  it.each([
    ["null", null],
    ["undefined", undefined],
    ["an object without id", {}],
    ["a symbol", Symbol("id")],
    ["a promise", Promise.resolve("1")],
    ["an array", ["1"]],
    ["a lone surrogate", "user \ud800"],
    ["a lone surrogate in an argument", { id: "1", args: { q: "\udc00" } }],
  ])("a key selector that returns %s: the source runs uncached, nothing is merged", async (_case, key) => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = world.cache.cached(source, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => key as string,
      defaultConfig: DialCacheKeyConfig.enabled(60),
    });
    const results = await world.cache.enable(() => Promise.all([load(), load(), load()]));
    expect(results).toEqual(["source", "source", "source"]);
    expect(source).toHaveBeenCalledTimes(3);
    expect(world.metrics.count("error", { error: "key_construction" })).toBe(3);
    expect(await world.calls("get")).toBe(0);
  });

  it.each([true, false])(
    "a key type that is not well-formed: the source runs uncached, metrics: %s",
    async (observed) => {
      const world = await rig.world({ ...healthy, observed });
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source, {
        keyType: "user \ud800",
        defaultConfig: DialCacheKeyConfig.enabled(60),
      });
      expect(await Promise.all([load("1"), load("1")])).toEqual(["source", "source"]);
      expect(source).toHaveBeenCalledTimes(2);
      expect(world.log.warnings).toHaveLength(2);
      const { local, useCases } = world.cache.stats();
      expect(local.entries).toBe(0);
      expect(useCases["GetUser" as string]).toMatchObject({ keyType: "user \ufffd", errors: { key_construction: 2 } });
    },
  );

  it.each([true, false])("an id with a brace in a tracked key: a key error, provider: %s", async (provided) => {
    const cacheConfigProvider = vi.fn(() => null);
    const world = await rig.world({ ...healthy, ...(provided ? { config: { cacheConfigProvider } } : {}) });
    const source = vi.fn(async () => "source");
    const load = world.cache.cached(source, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => "a{b",
      trackForInvalidation: true,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60 }, requestLocal: true }),
    });
    expect(await world.cache.enable(async () => [await load(), await load()])).toEqual(["source", "source"]);
    expect(source).toHaveBeenCalledTimes(2);
    const keyError = { error: "key_construction", layer: "noop", inFallback: false };
    expect(world.metrics.of("error").map(({ labels }) => labels)).toMatchObject([keyError, keyError]);
    expect(world.metrics.count("disabled", {})).toBe(0);
    expect(world.metrics.count("request", {})).toBe(0);
    expect(cacheConfigProvider).not.toHaveBeenCalled();
  });

  it.each(FAILS)("a provider that %s: the source runs uncached", async (_case, fail) => {
    const world = await rig.world({ ...healthy, config: { cacheConfigProvider: fail } });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: DialCacheKeyConfig.enabled(60) });
    expect(await load("1")).toBe("source");
    expect(await load("1")).toBe("source");
    expect(source).toHaveBeenCalledTimes(2);
    expect(world.metrics.count("error", { error: "config_resolution", layer: "noop", inFallback: false })).toBe(2);
    expect(world.metrics.count("disabled", { reason: "config_error" })).toBe(2);
    expect(world.log.warnings).toHaveLength(2);
    expect(world.cache.stats().local.entries).toBe(0);
    expect(await world.calls("get")).toBe(0);
  });

  it.each([
    ["a number", 60],
    ["a string", "60"],
    ["an array", []],
    ["a TTL that is no map", { ttlSec: 60 }],
    ["requestLocal that is no boolean", { requestLocal: "yes" }],
  ])("a provider that answers with %s: the source runs uncached", async (_case, answer) => {
    const world = await rig.world({ ...healthy, config: { cacheConfigProvider: () => answer as never } });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: DialCacheKeyConfig.enabled(60) });
    expect(await load("1")).toBe("source");
    expect(await load("1")).toBe("source");
    expect(source).toHaveBeenCalledTimes(2);
    expect(world.metrics.count("disabled", { reason: "config_error" })).toBe(2);
  });

  it.each([
    ["TTL", { ttlSec: { local: 0.5 } }, "invalid_ttl"],
    ["ramp", { ramp: { local: 101 } }, "invalid_ramp"],
  ])("an invalid local %s at run time turns off that layer only", async (_case, runtime, reason) => {
    const world = await rig.world({
      ...healthy,
      config: { cacheConfigProvider: () => new DialCacheKeyConfig(runtime) },
    });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: DialCacheKeyConfig.enabled(60) });
    await load("1");
    await world.written();
    await load("1");
    expect(source).toHaveBeenCalledTimes(1);
    expect(world.cache.stats().local.entries).toBe(0);
    expect(world.metrics.count("disabled", { layer: "local", reason })).toBe(2);
    expect(world.stats("GetUser").hits.remote).toBe(1);
  });

  it.each([
    ["at once", (answer: (value: unknown) => void, value: unknown) => answer(value)],
    ["later", (answer: (value: unknown) => void, value: unknown) => setImmediate(answer, value)],
  ])("a provider's answer counts when it is a bare thenable that answers %s", async (_case, settle) => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable that is no promise is the point
    const thenable = { then: (answer: (value: unknown) => void) => settle(answer, DialCacheKeyConfig.disabled()) };
    const world = await rig.world({ ...healthy, config: { cacheConfigProvider: () => thenable as never } });
    const load = world.load("GetUser", async () => "source", { defaultConfig: DialCacheKeyConfig.enabled(60) });
    expect(await load("1")).toBe("source");
    expect(world.metrics.count("disabled", { reason: "ramped_down" })).toBe(2);
    expect(await world.calls("get")).toBe(0);
  });

  it.each([...FAILS, ["never settles", () => never()]] as const)(
    "a metrics adapter that %s changes nothing",
    async (_case, act) => {
      const world = await rig.world({ ...healthy, config: { metrics: hostileMetrics(act) } });
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source, { defaultConfig: DialCacheKeyConfig.enabled(60) });
      expect(await Promise.all([load("1"), load("1")])).toEqual(["source", "source"]);
      await world.written();
      expect(await load("1")).toBe("source");
      expect(source).toHaveBeenCalledTimes(1);
      expect(await world.stored("GetUser", "1")).toMatchObject({ payload: '"source"' });
      await world.server.command("RPUSH", world.key("GetUser", "2"), "list");
      expect(await load("2")).toBe("source");
    },
  );

  it.each(FAILS)("a logger that %s changes nothing", async (_case, act) => {
    const logger = { debug: act, info: act, warn: act, error: act };
    const world = await rig.world({ ...healthy, config: { logger } });
    const load = world.load("GetUser", async () => "source");
    await world.server.command("RPUSH", world.key("GetUser", "1"), "list");
    expect(await load("1")).toBe("source");
    await world.plant("GetUser", "2", "{not json");
    expect(await load("2")).toBe("source");
  });

  it("logger: null is silent", async () => {
    const spies = (["log", "debug", "info", "warn", "error"] as const).map((method) =>
      vi.spyOn(console, method).mockImplementation(() => {}),
    );
    const world = await rig.world({ ...healthy, config: { logger: null } });
    const load = world.load("GetUser", async () => "source");
    await world.server.command("RPUSH", world.key("GetUser", "1"), "list");
    expect(await load("1")).toBe("source");
    expect(spies.flatMap((spy) => spy.mock.calls)).toEqual([]);
  });

  it("a dead Redis: every call returns the source's value", async () => {
    const world = await rig.world();
    await world.server.kill();
    onTestFinished(() => world.server.restart());
    const source = vi.fn(async (id: string) => `source ${id}`);
    const load = world.load("GetUser", source);
    const ids = Array.from({ length: 100 }, (_, index) => String(index));
    expect(await Promise.all(ids.map((id) => load(id)))).toEqual(ids.map((id) => `source ${id}`));
    expect(source).toHaveBeenCalledTimes(100);
    expect(world.metrics.count("error", { error: "cache_read" })).toBe(100);
    expect(world.log.warnings).toHaveLength(100);
  });

  it("everything broken at once: the source's value", async () => {
    const hostile = () => {
      throw broken;
    };
    const world = await rig.world({
      config: { metrics: hostileMetrics(hostile), logger: { debug: hostile, warn: hostile, error: hostile } },
    });
    await world.server.freeze();
    const load = world.load("GetUser", async () => "source", {
      serializer: { dump: hostile, load: hostile },
    });
    expect(await load("1")).toBe("source");
  });

  it.each(FAILS)(
    "a serializer whose dump %s: the value is returned and kept locally, not written",
    async (_c, fail) => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source, {
        defaultConfig: DialCacheKeyConfig.enabled(60),
        serializer: { dump: fail, load: (payload) => payload },
      });
      expect(await load("1")).toBe("source");
      await world.written();
      expect(await world.stored("GetUser", "1")).toBeNull();
      expect(await load("1")).toBe("source");
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.metrics.count("error", { error: "serialization_dump", layer: "remote", inFallback: false })).toBe(1);
      expect(world.log.warnings).toHaveLength(1);
      expect(world.flights().activeLeaders).toBe(0);
      expect(world.cache.stats().flights.lingering).toBe(0);
    },
  );

  it("a closed cache goes on with local and source", async () => {
    const world = await rig.world(healthy);
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { defaultConfig: DialCacheKeyConfig.enabled(60) });
    await world.cache.close();
    expect(await load("1")).toBe("source");
    expect(await load("1")).toBe("source");
    expect(source).toHaveBeenCalledTimes(1);
    expect(await world.calls("get")).toBe(0);
    expect(await world.calls("set")).toBe(0);
    expect(world.log.warnings).toEqual([]);
  });
});

describe("a JavaScript client that misbehaves", () => {
  function scripted() {
    const client = new ScriptedClient();
    const metrics = recordMetrics();
    const log = recordLogger();
    const cache = new DialCache({
      redis: { client, readTimeoutMs: 10_000 },
      metrics: metrics.adapter,
      logger: log.logger,
    });
    const source = vi.fn(async () => "source");
    return { client, metrics, log, cache, source, load: loader(cache, "GetUser", source) };
  }

  it.each(FAILS)("a read that %s is a failed read", async (_case, fail) => {
    const { client, metrics, log, load } = scripted();
    client.autoRead = fail;
    expect(await load("1")).toBe("source");
    expect(metrics.count("error", { error: "cache_read", layer: "remote", inFallback: false })).toBe(1);
    expect(log.warnings[0]?.args).toContain(broken);
    expect(client.writes).toHaveLength(0);
  });

  it.each([
    ["a number", 7],
    ["a boolean", true],
    ["undefined", undefined],
    ["an object without payload", {}],
    ["a payload that is a number", { payload: 7, createdAtMs: 1 }],
    ["a creation time that is no number", { payload: '"redis"', createdAtMs: "1" }],
    ["an array", ['"redis"']],
  ])("a read that answers with %s is a failed read", async (_case, answer) => {
    const { client, metrics, log, load } = scripted();
    client.autoRead = () => answer as never;
    expect(await load("1")).toBe("source");
    expect(metrics.count("error", { error: "cache_read" })).toBe(1);
    expect(log.warnings).toHaveLength(1);
    expect(client.writes).toHaveLength(0);
  });

  it.each([
    ["a string", '"redis"'],
    ["a Buffer", Buffer.from('"redis"')],
    ["a payload with its time", { payload: '"redis"', createdAtMs: 1_700_000_000_000 }],
    ["a Buffer payload with its time", { payload: Buffer.from('"redis"'), createdAtMs: 1_700_000_000_000 }],
  ])("a read may answer with %s", async (_case, answer) => {
    const { client, load, log } = scripted();
    client.autoRead = () => answer;
    expect(await load("1")).toBe("redis");
    client.autoRead = () => Promise.resolve(answer);
    expect(await load("1")).toBe("redis");
    expect(log.lines).toEqual([]);
  });

  it("a thenable that is no promise is awaited", async () => {
    const { client, load } = scripted();
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about
    const thenable = { then: (resolve: (value: string) => void) => resolve('"redis"') };
    client.autoRead = () => thenable as unknown as Promise<string>;
    expect(await load("1")).toBe("redis");
  });

  it.each(FAILS)("a write that %s is counted once and reaches no caller", async (_case, fail) => {
    const { client, metrics, log, cache, load } = scripted();
    client.autoRead = () => null;
    client.autoWrite = fail;
    expect(await load("1")).toBe("source");
    expect(await cache.drain({ timeoutMs: 1_000 })).toBe(true);
    expect(metrics.count("error", { error: "cache_write", layer: "remote", inFallback: false })).toBe(1);
    expect(log.warnings).toHaveLength(1);
    expect(log.warnings[0]?.args).toContain(broken);
  });

  it("is called on its own object", async () => {
    class Client implements DialCacheRedisClient {
      readonly #payload: string = '"redis"';
      async read() {
        return this.#payload;
      }
      async write() {
        return this.#payload !== "";
      }
      async invalidate() {}
    }
    const cache = new DialCache({ redis: { client: new Client(), readTimeoutMs: 10_000 }, logger: null });
    const load = cache.cached(async () => "source", {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => "1",
      defaultConfig: REMOTE_ONLY,
    });
    expect(await cache.enable(() => load())).toBe("redis");
  });
});

describe("a bug on the way to the source, here a clock that throws once", () => {
  let bug = false;
  const clock = manualClock();
  const now = () => {
    if (bug) {
      bug = false;
      throw broken;
    }
    return clock.now();
  };
  const provide = {
    "without a provider": undefined,
    "with one": () => null,
    "with an asynchronous one": async () => null,
  };
  const keys = {
    "a key": () => "1",
    "a key selector that throws": (): string => {
      throw broken;
    },
  };

  it.each(
    Object.entries(provide).flatMap(([provider, cacheConfigProvider]) =>
      Object.entries(keys).map(([key, cacheKey]) => ({ provider, key, cacheConfigProvider, cacheKey })),
    ),
  )("costs a caller nothing $provider and with $key", async ({ cacheConfigProvider, cacheKey }) => {
    onTestFinished(installClock({ ...clock, now }));
    const log = recordLogger();
    const metrics = recordMetrics();
    const cache = new DialCache({ cacheConfigProvider, logger: log.logger, metrics: metrics.adapter });
    const source = vi.fn(async () => "source");
    const load = cache.cached(source, { keyType: "user_id", useCase: "GetUser", cacheKey, defaultConfig: LOCAL_ONLY });
    bug = true;
    expect(await cache.enable(() => load())).toBe("source");
    expect(bug).toBe(false);
    expect(source).toHaveBeenCalledTimes(1);
    expect(metrics.count("error", { error: "unknown", layer: "noop", inFallback: false })).toBe(1);
    expect(log.warnings.map(errorOf)).toContain(broken);
  });
});
