import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { DialCache, DialCacheKeyConfig, type DialCacheMetricsAdapter } from "dialcache-native";
import { createDatadogDialCacheMetrics } from "dialcache-native/datadog";
import { createOpenTelemetryDialCacheMetrics } from "dialcache-native/opentelemetry";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import { installClock, manualClock } from "dialcache-native/testing";
import fc from "fast-check";
import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../lib/observers";
import { ScriptedClient } from "../support/clients";
import { turns, until } from "../support/real-time";
import { LOCAL_ONLY } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";
import { loadOf, samples } from "./support";

failOnUnhandled();

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

type Tags = Readonly<Record<string, string>>;

/** A backend under test, and what arrived there: counters summed by name and tags, as of now. */
interface TestBackend {
  readonly metrics: DialCacheMetricsAdapter;
  totals(): Promise<Map<string, number>>;
  tags(): Promise<Tags[]>;
}

function keyOf(name: string, tags: Tags): string {
  return JSON.stringify([name, ...Object.values(tags)]);
}

/** Sums what a push backend is told. */
function sums() {
  const totals = new Map<string, number>();
  const tags: Tags[] = [];
  return {
    totals,
    tags,
    add(name: string, value: number, given: Tags): void {
      tags.push(given);
      totals.set(keyOf(name, given), (totals.get(keyOf(name, given)) ?? 0) + value);
    },
  };
}

const BACKENDS: [string, () => TestBackend][] = [
  [
    "Prometheus",
    () => {
      const registry = new Registry();
      const read = async () => {
        const text = await registry.metrics();
        const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string);
        return names.flatMap((name) =>
          ["", "_count", "_bucket"].flatMap((end) => samples(text, name + end).map((sample) => ({ name, ...sample }))),
        );
      };
      return {
        metrics: createPrometheusDialCacheMetrics({ registry }),
        totals: async () =>
          new Map(
            (await read())
              .filter(({ name }) => name.endsWith("_counter"))
              .map(({ name, labels, value }) => [
                keyOf(name.replace(/^dialcache_(.*)_counter$/, "$1").replace("_validation", ""), labels),
                value,
              ]),
          ),
        tags: async () => (await read()).map(({ labels: { le: _, ...labels } }) => labels),
      };
    },
  ],
  [
    "Datadog",
    () => {
      const { totals, tags, add } = sums();
      const client = {
        increment: (name: string, value: number, given: Tags = {}) =>
          add(name.replace(/^dialcache\.(.*)\.count$/, "$1"), value, given),
        histogram: (_name: string, _value: number, given: Tags = {}) => void tags.push(given),
        distribution: () => expect.unreachable(),
      };
      const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: "histogram" });
      const flushed = async <T>(result: T): Promise<T> => {
        metrics.flush();
        return result;
      };
      return { metrics, totals: () => flushed(totals), tags: () => flushed(tags) };
    },
  ],
  [
    "OpenTelemetry",
    () => {
      const { totals, tags, add } = sums();
      const meter = {
        createCounter: (name: string) => ({
          add: (value: number, given: Tags) => add(name.replace(/^dialcache\.(.*)\.count$/, "$1"), value, given),
        }),
        createHistogram: () => ({ record: (_value: number, given: Tags) => void tags.push(given) }),
      };
      const metrics = createOpenTelemetryDialCacheMetrics({ meter });
      const flushed = async <T>(result: T): Promise<T> => {
        metrics.flush();
        return result;
      };
      return { metrics, totals: () => flushed(totals), tags: () => flushed(tags) };
    },
  ],
];

const NAMES = { cache_namespace: "urn", use_case: "GetUser", key_type: "user_id" };

describe.each(BACKENDS)("%s", (_name, make) => {
  it("is not told of local hits: they take the direct lookup, and are read later", async () => {
    const { metrics, totals } = make();
    const cache = new DialCache({ metrics, logger: null });
    const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY });
    await cache.enable(async () => {
      for (let call = 0; call < 100; call += 1) await get("1");
    });
    expect((await totals()).get(keyOf("request", { ...NAMES, layer: "local" }))).toBe(100);
    const figures = { each: () => {} } as unknown as Parameters<typeof connect>[1];
    expect(connect(metrics, figures, {}).events).toBeUndefined();
  });

  it("counts what stats() counts, whatever is called in whatever order", async () => {
    const call = fc.record({
      useCase: fc.constantFrom("Both", "Local", "Memo", "Off", "Invalid"),
      id: fc.constantFrom("1", "2", "3", "\ud800"),
      scope: fc.constantFrom("enabled", "disabled"),
      source: fc.constantFrom("value", "long", "error", "slow"),
      followers: fc.nat(2),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 20 }), async (calls) => {
        const { metrics, totals } = make();
        const redis = new ScriptedClient();
        redis.autoRead = ({ valueKey }) => {
          if (valueKey.includes(":2#")) return Promise.reject(new Error("down"));
          // Of the third id there is what looks compressed and is not.
          return valueKey.includes(":3#") ? Buffer.from([2, 0x28]) : null;
        };
        redis.autoWrite = () => true;
        const cache = new DialCache({
          metrics,
          logger: null,
          redis: { client: redis, readTimeoutMs: 1_000 },
          cacheConfigProvider: ({ useCase }) =>
            useCase === "Invalid" ? ({ ttlSec: { local: 0.5, remote: 60 }, ramp: { remote: 400 } } as never) : null,
        });
        const configs: Record<string, DialCacheKeyConfig> = {
          Both: new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 } }),
          Local: LOCAL_ONLY,
          Memo: new DialCacheKeyConfig({ ttlSec: { remote: 60 }, requestLocal: true, ramp: { remote: 50 } }),
        };
        let source = "value";
        const gets = Object.fromEntries(
          ["Both", "Local", "Memo", "Off", "Invalid"].map((useCase) => {
            const load = async (id: string) => {
              if (source === "slow") await null;
              if (source === "error") throw new Error("down");
              return source === "long" ? id.repeat(5_000) : id;
            };
            return [useCase, loadOf(cache, useCase, load, { defaultConfig: configs[useCase] ?? null })];
          }),
        );
        for (const { useCase, id, scope, source: next, followers } of calls) {
          source = next;
          const get = gets[useCase] as (id: string) => Promise<unknown>;
          const all = () => Promise.allSettled(Array.from({ length: followers + 1 }, () => get(id)));
          await (scope === "enabled" ? cache.enable(all) : all());
        }
        await cache.drain();

        const expected = new Map<string, number>();
        const expectCount = (name: string, tags: Tags, count: number | undefined) => {
          if (count !== undefined && count > 0) expected.set(keyOf(name, tags), count);
        };
        const errors: Record<string, number> = {};
        for (const [use_case, stats] of Object.entries(cache.stats().useCases)) {
          const names = { cache_namespace: "urn", use_case, key_type: "user_id" };
          for (const layer of ["request_local", "local", "remote"] as const) {
            expectCount("request", { ...names, layer }, stats.requests[layer]);
            expectCount("miss", { ...names, layer }, stats.misses[layer]);
          }
          for (const [outcome, count] of Object.entries(stats.compression)) {
            expectCount("compression", { ...names, layer: "remote", outcome }, count);
          }
          for (const [layer, reasons] of Object.entries(stats.disabledReasons)) {
            for (const [reason, count] of Object.entries(reasons)) {
              expectCount("disabled", { ...names, layer, reason }, count);
            }
          }
          for (const scope of ["request_local", "process"] as const) {
            expectCount("coalesced", { ...names, scope }, stats.coalesced[scope]);
          }
          for (const [error, count] of Object.entries(stats.errors)) errors[`${use_case} ${error}`] = count;
        }
        const counted = await totals();
        const errorsCounted: Record<string, number> = {};
        for (const [key, count] of counted) {
          const [name, , useCase, , , error] = JSON.parse(key) as string[];
          if (name !== "error") continue;
          const place = `${useCase} ${error}`;
          errorsCounted[place] = (errorsCounted[place] ?? 0) + count;
          counted.delete(key);
        }
        expect(counted).toEqual(expected);
        expect(errorsCounted).toEqual(errors);
      }),
      { numRuns: 60 },
    );
  });

  it("no label ever holds a key, an id, an argument, a value, a message or a timeout", async () => {
    const allowed = new Set(
      (
        "urn GetUser user_id request_local local remote remote_shadow noop context policy_disabled invalid_ttl " +
        "invalid_ramp ramped_down config_error key_construction config_resolution cache_read cache_write " +
        "serialization_load serialization_dump compression invalidation fallback unknown true false process dump load " +
        "compress decompress compressed below_threshold not_smaller decompressed fallback_raw"
      ).split(" "),
    );
    const text = fc.string({ minLength: 1, unit: "grapheme" });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          id: fc.oneof(text, fc.constant("\ud800")),
          arg: text,
          value: text,
          message: text,
          readTimeoutMs: fc.integer({ min: 1_000, max: 2_000_000 }),
          broken: fc.constantFrom("nothing", "key", "provider", "read", "load", "source", "dump", "write"),
        }),
        async ({ id, arg, value, message, readTimeoutMs, broken }) => {
          const { metrics, tags } = make();
          const fail = () => {
            throw Object.assign(new Error(message), { name: message });
          };
          const redis = new ScriptedClient();
          redis.autoRead = () => (broken === "read" ? fail() : broken === "load" ? value : null);
          redis.autoWrite = () => (broken === "write" ? fail() : true);
          const cache = new DialCache({
            metrics,
            logger: null,
            redis: {
              client: redis,
              readTimeoutMs,
              serializer: {
                dump: (it) => (broken === "dump" ? fail() : String(it)),
                load: (it) => (broken === "load" ? fail() : it),
              },
            },
            ...(broken === "provider" ? { cacheConfigProvider: fail } : {}),
          });
          const get = cache.cached(async (id: string, _arg: string) => (broken === "source" ? fail() : value + id), {
            keyType: "user_id",
            useCase: "GetUser",
            cacheKey: (id, arg) => (broken === "key" ? fail() : { id, args: { arg } }),
            defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true }),
            fallbackTimeoutMs: readTimeoutMs + 1,
          });
          await cache.enable(() => Promise.allSettled([get(id, arg), get(id, arg)]));
          await get(id, arg).catch(() => {});
          await cache.drain();
          const all = await tags();
          expect(all.length).toBeGreaterThan(0);
          for (const value of all.flatMap((tags) => Object.values(tags))) expect(allowed).toContain(value);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("a dropped instance is collected, and what it counted is not lost", async () => {
    const { metrics, totals } = make();
    const request = keyOf("request", { ...NAMES, layer: "local" });
    const values: WeakRef<object>[] = [];
    const drop = async () => {
      const cache = new DialCache({ metrics, logger: null });
      const get = loadOf(cache, "GetUser", async (id) => ({ id }), { defaultConfig: LOCAL_ONLY });
      await cache.enable(async () => {
        values.push(new WeakRef((await get("1")) as object));
        await get("1");
      });
      return new WeakRef(cache);
    };
    const dropped = [await drop(), await drop()];
    await until("the instances are collected", async () => {
      await turns(2);
      collect();
      return [...dropped, ...values].every((reference) => reference.deref() === undefined);
    });
    await turns(5);
    expect((await totals()).get(request)).toBe(4);
    const again = new DialCache({ metrics, logger: null });
    const get = loadOf(again, "GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY });
    await again.enable(() => get("1"));
    expect((await totals()).get(request)).toBe(5);
  });

  it("counts invalidations and those that fail", async () => {
    const { metrics, totals } = make();
    const client = new ScriptedClient();
    const cache = new DialCache({ metrics, logger: null, redis: { client, readTimeoutMs: 1_000 } });
    await expect(cache.invalidateRemote("user_id", "1")).rejects.toThrow("not scripted");
    const labels = { cache_namespace: "urn", key_type: "user_id", layer: "remote" };
    expect((await totals()).get(keyOf("invalidation", labels))).toBe(1);
    const { cache_namespace, key_type, layer } = labels;
    const error = {
      cache_namespace,
      use_case: "watermark",
      key_type,
      layer,
      error: "invalidation",
      in_fallback: "false",
    };
    expect((await totals()).get(keyOf("error", error))).toBe(1);
  });
});

describe("A backend that throws never reaches a caller", () => {
  const fail = () => {
    throw new Error("backend");
  };
  const reject = () => Promise.reject(new Error("backend"));

  it.each([
    ["throws", fail],
    ["rejects", reject],
  ])("Datadog and OpenTelemetry, when it %s", async (_how, act) => {
    const clock = manualClock();
    onTestFinished(installClock(clock));
    const client = { increment: act, histogram: act, distribution: act };
    const meter = { createCounter: () => ({ add: act }), createHistogram: () => ({ record: act }) };
    for (const metrics of [
      createDatadogDialCacheMetrics({ client, observationMetricType: "distribution" }),
      createOpenTelemetryDialCacheMetrics({ meter }),
    ]) {
      const cache = new DialCache({ metrics, logger: null });
      const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY });
      expect(await cache.enable(() => get("1"))).toBe("1");
      expect(await get("2")).toBe("2");
      await clock.advance(30_000);
      expect(() => metrics.flush()).not.toThrow();
    }
    await turns(2);
  });
});
