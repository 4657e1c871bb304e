import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DialCacheKeyConfig } from "../lib/config";
import { DialCache } from "../lib/dialcache";
import { guardLogger, type Logger } from "../lib/logger";
import { type DialCacheMetricsAdapter, guardMetrics, METRIC_HOOKS } from "../lib/metrics";

const boom = new Error("observer");
const unhandled = vi.fn();

beforeEach(() => {
  unhandled.mockClear();
  process.on("unhandledRejection", unhandled);
});

afterEach(async () => {
  // Rejections are reported when the microtask queue is empty: after this turn.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

function fail(): never {
  throw boom;
}

/** A promise of some other library, by what reading its `then` does. */
function thenable(then: () => unknown): unknown {
  // biome-ignore lint/suspicious/noThenProperty: that is what it is for
  return Object.defineProperty({}, "then", { get: then });
}

/** Ways for an observer to fail. */
const failures: [string, () => unknown][] = [
  ["throws", fail],
  ["rejects", () => Promise.reject(boom)],
  [
    "rejects later",
    async () => {
      await null;
      throw boom;
    },
  ],
  [
    "returns a thenable that rejects",
    () => thenable(() => (_: unknown, reject: (error: unknown) => void) => reject(boom)),
  ],
  ["returns a thenable that throws", () => thenable(() => fail)],
  ["returns an object that cannot be looked at", () => new Proxy({}, { has: fail, get: fail })],
  ["returns an object whose then cannot be read", () => thenable(fail)],
];

const levels = ["debug", "warn", "error"] as const;

describe("guardLogger", () => {
  it.each(failures)("keeps a logger that %s away from the caller", (_how, failing) => {
    const logger = guardLogger({ debug: failing, warn: failing, error: failing } as Logger);
    for (const level of levels) expect(logger[level]("message", boom)).toBeUndefined();
  });

  it.each(levels)("hands message and details of %s on, on the logger itself", (level) => {
    const seen: unknown[] = [];
    const target = {
      [level](...args: unknown[]) {
        seen.push(this, ...args);
      },
    } as unknown as Logger;
    guardLogger(target)[level]("message", boom, 5);
    expect(seen).toEqual([target, "message", boom, 5]);
  });

  it("is console when there is none, as it is at the moment", () => {
    const logger = guardLogger(undefined);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    logger.warn("message", boom);
    expect(warn).toHaveBeenCalledExactlyOnceWith("message", boom);
  });

  it("is silent for null", () => {
    const spies = levels.map((level) => vi.spyOn(console, level).mockImplementation(() => {}));
    const logger = guardLogger(null);
    for (const level of levels) logger[level]("message");
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  });

  it("does without the methods a logger lacks", () => {
    expect(() => guardLogger({} as Logger).debug("message")).not.toThrow();
  });
});

describe("guardMetrics", () => {
  const labels = { cacheNamespace: "urn", useCase: "GetUser", keyType: "user_id", layer: "local" } as const;

  it.each(failures)("keeps an adapter that %s away from the caller", (_how, failing) => {
    const adapter = Object.fromEntries(METRIC_HOOKS.map((hook) => [hook, failing]));
    const metrics = guardMetrics(adapter as unknown as DialCacheMetricsAdapter);
    for (const hook of METRIC_HOOKS) {
      expect((metrics[hook] as (...args: unknown[]) => unknown)(labels, 1)).toBeUndefined();
    }
  });

  it.each(METRIC_HOOKS)("hands %s on, on the adapter itself", (hook) => {
    const seen: unknown[] = [];
    const adapter = {
      [hook](...args: unknown[]) {
        seen.push(this, ...args);
      },
    };
    const metrics = guardMetrics(adapter as unknown as DialCacheMetricsAdapter);
    (metrics[hook] as (...args: unknown[]) => unknown)(labels, 0.5);
    expect(seen).toEqual([adapter, labels, 0.5]);
  });

  it("does without the hooks an adapter lacks", () => {
    const metrics = guardMetrics({} as DialCacheMetricsAdapter);
    expect(() => metrics.coalesced({ ...labels, scope: "process" })).not.toThrow();
  });
});

describe("an adapter that has every property there is", () => {
  it("is told each event, like a mock in somebody's tests", async () => {
    const told: PropertyKey[] = [];
    const get = (_target: object, hook: PropertyKey) => () => void told.push(hook);
    const cache = new DialCache({ metrics: new Proxy({}, { get }) as DialCacheMetricsAdapter, logger: null });
    const key = { keyType: "user_id", useCase: "GetUser", key: "1" };
    const defaultConfig = new DialCacheKeyConfig({ ttlSec: { local: 60 } });
    await cache.enable(() => cache.getOrLoad(() => 1, { ...key, defaultConfig }));
    expect(told).toEqual(["request", "miss", "observeFallback"]);
  });
});
