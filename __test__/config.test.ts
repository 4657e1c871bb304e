import { describe, expect, it, vi } from "vitest";
import { CacheLayer, DialCacheKeyConfig, isValidated, toKeyConfig, toLeaves, validateDefaults } from "../lib/config";

const place = { api: "cached()", path: "defaultConfig." };

const nothing = {
  ttlLocal: undefined,
  ttlRemote: undefined,
  rampLocal: undefined,
  rampRemote: undefined,
  requestLocal: undefined,
  coalesce: undefined,
  shadowRamp: undefined,
  logMismatches: undefined,
};

describe("DialCacheKeyConfig", () => {
  it("keeps what it was given and inherits the rest", () => {
    const config = new DialCacheKeyConfig({
      ttlSec: { [CacheLayer.LOCAL]: 30, [CacheLayer.REMOTE]: 300 },
      ramp: { local: 50 },
      requestLocal: true,
      coalesce: false,
      shadow: { ramp: 1, logMismatches: true },
    });
    expect(toLeaves(config, "config")).toEqual({
      ttlLocal: 30,
      ttlRemote: 300,
      rampLocal: 50,
      rampRemote: undefined,
      requestLocal: true,
      coalesce: false,
      shadowRamp: 1,
      logMismatches: true,
    });
    expect(toLeaves(new DialCacheKeyConfig(), "config")).toEqual(nothing);
    expect(toLeaves(new DialCacheKeyConfig({}), "config")).toEqual(nothing);
  });

  it("enabled() turns both shared layers on for every key", () => {
    expect(toLeaves(DialCacheKeyConfig.enabled(60), "config")).toEqual({
      ...nothing,
      ttlLocal: 60,
      ttlRemote: 60,
      rampLocal: 100,
      rampRemote: 100,
    });
  });

  it("disabled() turns everything off", () => {
    expect(toLeaves(DialCacheKeyConfig.disabled(), "config")).toEqual({
      ...nothing,
      rampLocal: 0,
      rampRemote: 0,
      requestLocal: false,
      shadowRamp: 0,
      logMismatches: false,
    });
  });

  it("is immutable, down to its layers, and independent of what it was made from", () => {
    const init = { ttlSec: { local: 60 }, ramp: { local: 5 }, shadow: { ramp: 0 }, requestLocal: true };
    const config = new DialCacheKeyConfig(init);
    init.ttlSec.local = 1;
    init.requestLocal = false;
    expect(config.ttlSec?.local).toBe(60);
    expect(config.requestLocal).toBe(true);
    for (const part of [config, config.ttlSec, config.ramp, config.shadow]) expect(Object.isFrozen(part)).toBe(true);
  });

  it("may be subclassed, with the leaves it was constructed with", () => {
    class Preset extends DialCacheKeyConfig {
      readonly label = "preset";
    }
    const preset = new Preset({ ttlSec: { local: 5 } });
    expect(preset.label).toBe("preset");
    expect(toKeyConfig(preset, place)).toBe(preset);
    expect(toLeaves(preset, "config").ttlLocal).toBe(5);
  });

  it("checks shapes, not values", () => {
    for (const value of [0, -1, 1.5, Number.NaN, "60", null, 1e9]) {
      expect(() => new DialCacheKeyConfig({ ttlSec: { local: value as number } })).not.toThrow();
    }
    expect(() => DialCacheKeyConfig.enabled(0)).not.toThrow();
  });

  it.each([
    [{ ttl: { local: 1 } }, /unknown option "ttl"/],
    [{ ttlSec: { memory: 1 } }, /unknown option "ttlSec.memory"/],
    [{ ttlSec: 60 }, /ttlSec must be an object, got 60/],
    [{ ramp: [50] }, /ramp must be an object, got an array/],
    [{ ramp: null }, /ramp must be an object, got null/],
    [{ requestLocal: 1 }, /requestLocal must be true or false, got 1/],
    [{ coalesce: "no" }, /coalesce must be true or false, got "no"/],
    [{ shadow: { logMismatches: 1 } }, /shadow.logMismatches must be true or false, got 1/],
    [{ remoteReadTimeoutMs: 50 }, /redisReadTimeoutMs/],
    [{ remoteReadTimeoutMs: undefined }, /redisReadTimeoutMs/],
    [null, /must be an object, got null/],
  ])("refuses the shape %j", (init, message) => {
    expect(() => new DialCacheKeyConfig(init as object)).toThrow(TypeError);
    expect(() => new DialCacheKeyConfig(init as object)).toThrow(message);
  });
});

describe("toLeaves", () => {
  it("takes a plain object of the same shape, at its values of the moment", () => {
    const config = { ttlSec: { local: 1 } };
    expect(toLeaves(config, "config")).toEqual({ ...nothing, ttlLocal: 1 });
    config.ttlSec.local = 2;
    expect(toLeaves(config, "config").ttlLocal).toBe(2);
  });

  it("takes an instance of another copy of the package", async () => {
    vi.resetModules();
    const copy = await import("../lib/config");
    expect(copy.toLeaves(DialCacheKeyConfig.enabled(60), "config").ttlRemote).toBe(60);
  });

  it.each(["60", null, Number.NaN, Number.POSITIVE_INFINITY, 5n, {}, true])("answers NaN for the leaf %s", (value) => {
    const leaves = toLeaves({ ttlSec: { local: value }, ramp: { remote: value }, shadow: { ramp: value } }, "config");
    expect(leaves).toEqual({
      ...nothing,
      ttlLocal: Number.NaN,
      rampRemote: Number.NaN,
      shadowRamp: Number.NaN,
    });
  });

  it.each([0, -1, 1.5, 101, 31_536_001])("leaves the number %d to the core", (value) => {
    expect(toLeaves({ ttlSec: { local: value } }, "config").ttlLocal).toBe(value);
  });

  it.each([null, undefined, 1, "config", [], () => {}, { ttlSec: 1 }, { extra: 1 }, { remoteReadTimeoutMs: 5 }])(
    "throws for the malformed %j",
    (config) => {
      expect(() => toLeaves(config, "cacheConfigProvider()")).toThrow(TypeError);
      expect(() => toLeaves(config, "cacheConfigProvider()")).toThrow(/^cacheConfigProvider\(\): /);
    },
  );
});

describe("validateDefaults", () => {
  it.each([1, 31_536_000])("takes a TTL of %d seconds", (ttl) => {
    expect(() => validateDefaults(DialCacheKeyConfig.enabled(ttl), place)).not.toThrow();
  });

  it.each([0, 0.1, 99.9, 100])("takes a ramp of %d percent", (ramp) => {
    const config = new DialCacheKeyConfig({ ramp: { local: ramp, remote: ramp } });
    expect(() => validateDefaults(config, place)).not.toThrow();
  });

  it("remembers what it accepted, and only that", () => {
    const good = DialCacheKeyConfig.enabled(60);
    const bad = DialCacheKeyConfig.enabled(0);
    validateDefaults(good, place);
    expect(() => validateDefaults(bad, place)).toThrow(RangeError);
    expect([isValidated(good), isValidated(bad), isValidated(null)]).toEqual([true, false, false]);
  });
});

describe("toKeyConfig", () => {
  it("hands an instance through and makes one of a plain object", () => {
    const config = DialCacheKeyConfig.enabled(60);
    expect(toKeyConfig(config, place)).toBe(config);
    expect(toKeyConfig({ ttlSec: { local: 5 } }, place)).toEqual(new DialCacheKeyConfig({ ttlSec: { local: 5 } }));
  });

  it("names the place of what is malformed", () => {
    expect(() => toKeyConfig({ ttlSec: 5 }, place)).toThrow("cached(): defaultConfig.ttlSec must be an object, got 5");
  });
});
