import {
  DialCache,
  DialCacheKeyConfig,
  UseCaseIsAlreadyRegisteredError,
  UseCaseNameIsReservedError,
} from "dialcache-native";
import { describe, expect, it, vi } from "vitest";
import { ScriptedClient } from "../support/clients";
import { LOCAL_ONLY, useCaseStats } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const base = () => ({ keyType: "user_id", useCase: "GetUser", cacheKey: () => "1" });

/** Options of `cached()` that are wrong in one place. */
const WRONG: readonly [name: string, change: Record<string, unknown>][] = [
  ["keyType missing", { keyType: undefined }],
  ["keyType empty", { keyType: "" }],
  ["keyType a number", { keyType: 1 }],
  ["useCase missing", { useCase: undefined }],
  ["useCase empty", { useCase: "" }],
  ["cacheKey missing", { cacheKey: undefined }],
  ["cacheKey a string", { cacheKey: "id" }],
  ["defaultConfig a number", { defaultConfig: 60 }],
  ["defaultConfig with a TTL of 0", { defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 0 } }) }],
  ["defaultConfig with a fractional TTL", { defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 1.5 } }) }],
  ["defaultConfig with a ramp of 101", { defaultConfig: new DialCacheKeyConfig({ ramp: { local: 101 } }) }],
  ["defaultConfig with a ramp of -1", { defaultConfig: new DialCacheKeyConfig({ ramp: { remote: -1 } }) }],
  ["defaultConfig with a ramp of NaN", { defaultConfig: new DialCacheKeyConfig({ ramp: { remote: Number.NaN } }) }],
  ["serializer without load", { serializer: { dump: () => "" } }],
  ["serializer a string", { serializer: "json" }],
  ["trackForInvalidation a string", { trackForInvalidation: "yes" }],
  ["fallbackTimeoutMs 0", { fallbackTimeoutMs: 0 }],
  ["fallbackTimeoutMs negative", { fallbackTimeoutMs: -1 }],
  ["fallbackTimeoutMs fractional", { fallbackTimeoutMs: 0.5 }],
  ["fallbackTimeoutMs a string", { fallbackTimeoutMs: "50" }],
  ["fallbackTimeoutMs NaN", { fallbackTimeoutMs: Number.NaN }],
  ["fallbackTimeoutMs infinite", { fallbackTimeoutMs: Number.POSITIVE_INFINITY }],
  ["fallbackTimeoutMs too large", { fallbackTimeoutMs: 2_147_483_648 }],
  ["redisReadTimeoutMs null", { redisReadTimeoutMs: null }],
  ["an unknown option", { redisReadTimeout: 50 }],
];

type Register = (options: Record<string, unknown>) => () => Promise<unknown>;

function made() {
  const client = new ScriptedClient();
  const cache = new DialCache({ redis: { client, readTimeoutMs: 50 }, logger: null });
  const source = vi.fn(async () => "source");
  const cached = cache.cached.bind(cache) as unknown as (fn: unknown, options: unknown) => () => Promise<unknown>;
  const register: Register = (options) => cached(source, options);
  return { cache, client, source, register };
}

describe("cached()", () => {
  it.each(WRONG)("%s throws before the name is taken; the corrected registration works", async (_name, change) => {
    const { register } = made();
    expect(() => register({ ...base(), ...change })).toThrow();
    const load = register(base());
    expect(await load()).toBe("source");
  });

  it("an unknown option names the nearest known one", () => {
    const { register } = made();
    expect(() => register({ ...base(), redisReadTimeout: 50 })).toThrow(/redisReadTimeoutMs/);
    expect(() => register({ ...base(), fallBackTimeoutMs: 50 })).toThrow(/fallbackTimeoutMs/);
  });

  it("a read deadline in the key config throws with a pointer to redisReadTimeoutMs", () => {
    expect(() => new DialCacheKeyConfig({ remoteReadTimeoutMs: 50 } as never)).toThrow(/redisReadTimeoutMs/);
  });

  it("a name can be registered once per instance", () => {
    const { cache, register } = made();
    register(base());
    expect(() => register(base())).toThrow(UseCaseIsAlreadyRegisteredError);
    expect(() => register(base())).toThrow(expect.objectContaining({ code: expect.any(String) }));
    const other = new DialCache({ logger: null });
    expect(() => other.cached(async () => "source", base())).not.toThrow();
    expect(useCaseStats(cache, "GetUser").sourceCalls).toBe(0);
  });

  it("the name watermark is reserved", () => {
    const { register } = made();
    expect(() => register({ ...base(), useCase: "watermark" })).toThrow(UseCaseNameIsReservedError);
  });

  it("options changed after the registration change nothing", async () => {
    const { cache } = made();
    const source = vi.fn(async (id: string) => id);
    const options = { ...base(), cacheKey: (id: string) => id, defaultConfig: LOCAL_ONLY };
    const load = cache.cached(source, options);
    options.cacheKey = () => "the same for all";
    options.useCase = "Other";
    expect(await cache.enable(() => load("1"))).toBe("1");
    expect(await cache.enable(() => load("2"))).toBe("2");
    expect(cache.stats().useCases).not.toHaveProperty("Other");
  });

  it.each([undefined, null, 1, "fn", {}])("what is no function throws: %s", (fn) => {
    const { cache } = made();
    expect(() => cache.cached(fn as never, base() as never)).toThrow(TypeError);
  });

  it("arguments, this and result types of the function come through", async () => {
    const { cache } = made();
    class Service {
      readonly name = "service";
      load = cache.cached(
        async function (this: Service, id: number, suffix: string) {
          return `${this.name} ${id}${suffix}`;
        },
        { ...base(), cacheKey: (id: number) => id, defaultConfig: LOCAL_ONLY },
      ) as (id: number, suffix: string) => Promise<string>;
    }
    const service = new Service();
    expect(await cache.enable(() => service.load(7, "!"))).toBe("service 7!");
    expect(await service.load(8, "?")).toBe("service 8?");
  });
});

describe("getOrLoad()", () => {
  const inline = () => ({ keyType: "user_id", useCase: "Inline", key: "1" });

  it("validates on each call and throws synchronously, before the loader runs", () => {
    const { cache, source } = made();
    const getOrLoad = cache.getOrLoad.bind(cache) as unknown as (load: unknown, options: unknown) => unknown;
    for (const change of [
      { useCase: "" },
      { useCase: "watermark" },
      { keyType: 1 },
      { key: undefined, nothing: 1 },
      { defaultConfig: 60 },
      { fallbackTimeoutMs: 0 },
      { redisReadTimeoutMs: null },
      { serializer: {} },
    ]) {
      expect(() => getOrLoad(source, { ...inline(), ...change }), JSON.stringify(change)).toThrow();
    }
    expect(() => getOrLoad("no function", inline())).toThrow(TypeError);
    expect(source).not.toHaveBeenCalled();
  });

  it("registers nothing: its name may be used again, also by cached(), and layers are shared by name", async () => {
    const { cache, source } = made();
    const options = { ...inline(), defaultConfig: LOCAL_ONLY };
    await cache.enable(async () => {
      expect(await cache.getOrLoad(source, options)).toBe("source");
      expect(await cache.getOrLoad(async () => "other", options)).toBe("source");
      const load = cache.cached(async () => "other", {
        keyType: "user_id",
        useCase: "Inline",
        cacheKey: () => "1",
        defaultConfig: LOCAL_ONLY,
      });
      expect(await load()).toBe("source");
    });
    expect(source).toHaveBeenCalledTimes(1);
    expect(useCaseStats(cache, "Inline").hits.local).toBe(2);
  });

  it("shares flights with calls for the same key", async () => {
    const { cache, source } = made();
    const options = { ...inline(), defaultConfig: LOCAL_ONLY };
    const results = await cache.enable(() =>
      Promise.all([
        cache.getOrLoad(source, options),
        cache.getOrLoad(source, options),
        cache.getOrLoad(source, { ...options, key: "2" }),
      ]),
    );
    expect(results).toEqual(["source", "source", "source"]);
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("is a plain call outside enable()", async () => {
    const { cache, source } = made();
    const options = { ...inline(), defaultConfig: LOCAL_ONLY };
    await cache.getOrLoad(source, options);
    await cache.getOrLoad(source, options);
    expect(source).toHaveBeenCalledTimes(2);
    const failure = new Error("thrown");
    await expect(
      cache.getOrLoad((): string => {
        throw failure;
      }, options),
    ).rejects.toBe(failure);
  });

  it("a key that is no key runs the loader uncached", async () => {
    const { cache, source } = made();
    const options = { ...inline(), key: "\ud800", defaultConfig: LOCAL_ONLY };
    await cache.enable(() => Promise.all([cache.getOrLoad(source, options), cache.getOrLoad(source, options)]));
    expect(source).toHaveBeenCalledTimes(2);
  });
});
