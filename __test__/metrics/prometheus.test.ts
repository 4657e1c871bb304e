import { DialCache, DialCacheKeyConfig, type DialCacheMetricsAdapter } from "dialcache-native";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import { Counter, Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import { deferred } from "../support/deferred";
import { LOCAL_ONLY, RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";
import { loadOf, samples, value } from "./support";

failOnUnhandled();

const BOTH = new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 } });

/** Names, types, labels and buckets of DialCache for TypeScript, written down from its documentation. */
const LAYER = ["cache_namespace", "use_case", "key_type", "layer"];
const OUTCOME = ["cache_namespace", "use_case", "key_type", "outcome"];
const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BYTES = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
const RATIO = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1];
const AGE = [1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 259_200, 604_800];
const SCHEMA: [string, "counter" | "histogram", string[], number[]?][] = [
  ["dialcache_request_counter", "counter", LAYER],
  ["dialcache_miss_counter", "counter", LAYER],
  ["dialcache_disabled_counter", "counter", [...LAYER, "reason"]],
  ["dialcache_error_counter", "counter", [...LAYER, "error", "in_fallback"]],
  ["dialcache_invalidation_counter", "counter", ["cache_namespace", "key_type", "layer"]],
  ["dialcache_coalesced_counter", "counter", ["cache_namespace", "use_case", "key_type", "scope"]],
  // This package's own.
  ["dialcache_read_hedge_counter", "counter", OUTCOME],
  ["dialcache_shadow_validation_counter", "counter", OUTCOME],
  ["dialcache_compression_counter", "counter", [...LAYER, "outcome"]],
  ["dialcache_hedge_total", "counter", ["source", "event"]],
  ["dialcache_source_attempt_total", "counter", ["source", "kind", "outcome"]],
  ["dialcache_get_timer", "histogram", LAYER, SECONDS],
  ["dialcache_fallback_timer", "histogram", LAYER, SECONDS],
  ["dialcache_serialization_timer", "histogram", [...LAYER, "operation"], SECONDS],
  ["dialcache_compression_timer", "histogram", [...LAYER, "operation"], SECONDS],
  ["dialcache_size_histogram", "histogram", LAYER, BYTES],
  ["dialcache_stored_size_histogram", "histogram", LAYER, BYTES],
  ["dialcache_compression_ratio_histogram", "histogram", LAYER, RATIO],
  ["dialcache_shadow_value_age_histogram", "histogram", OUTCOME, AGE],
];

const GAUGES = ["dialcache_hedge_delay_seconds", "dialcache_hedge_tokens", "dialcache_breaker_state"];

/** Calls every hook once, as a service that wraps the adapter would. */
function callEveryHook(metrics: DialCacheMetricsAdapter): void {
  const names = { cacheNamespace: "direct", useCase: "GetUser", keyType: "user_id" };
  const labels = { ...names, layer: "remote" } as const;
  metrics.request(labels);
  metrics.miss(labels);
  metrics.disabled({ ...labels, reason: "ramped_down" });
  metrics.error({ ...labels, error: "cache_read", inFallback: false });
  metrics.invalidation({ cacheNamespace: "direct", keyType: "user_id", layer: "remote" });
  metrics.observeGet(labels, 0.003);
  metrics.observeFallback(labels, 0.003);
  metrics.observeSerialization({ ...labels, operation: "load" }, 0.003);
  metrics.observeSize(labels, 250);
  metrics.coalesced?.({ ...names, scope: "process" });
  metrics.readHedge?.({ ...names, outcome: "outrun" });
  metrics.shadowValidation?.({ ...names, outcome: "match" });
  metrics.observeShadowValueAge?.({ ...names, outcome: "match" }, 7);
  metrics.compression?.({ ...labels, outcome: "compressed" });
  metrics.observeCompression?.({ ...labels, operation: "compress" }, 0.003);
  metrics.observeStoredSize?.(labels, 250);
  metrics.observeCompressionRatio?.(labels, 0.25);
  metrics.hedge?.({ source: "users", event: "won" });
  metrics.sourceAttempt?.({ source: "users", kind: "hedge", outcome: "ok" });
}

describe("Prometheus metrics are DialCache's", () => {
  it.each(["", "myapp_"])("names, types, labels and buckets, with prefix %j", async (prefix) => {
    const registry = new Registry();
    callEveryHook(createPrometheusDialCacheMetrics({ registry, prefix }));
    const text = await registry.metrics();
    const families = new Set([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`));
    const all = [...SCHEMA, ...GAUGES.map((name) => [name, "gauge"])];
    expect([...families].sort()).toEqual(all.map(([name, type]) => `${prefix}${name} ${type}`).sort());
    for (const [name, type, labels, buckets] of SCHEMA) {
      const lines = samples(text, prefix + name + (type === "counter" ? "" : "_count"));
      expect(lines.map(({ value }) => value)).toEqual([1]);
      expect(Object.keys(lines[0]?.labels ?? {})).toEqual(labels);
      const bounds = samples(text, `${prefix}${name}_bucket`).map(({ labels: { le } }) => le);
      expect(bounds).toEqual(buckets === undefined ? [] : [...buckets.map(String), "+Inf"]);
    }
  });

  it("histograms count a value in its bucket and all above", async () => {
    const registry = new Registry();
    const metrics = createPrometheusDialCacheMetrics({ registry });
    const labels = { cacheNamespace: "urn", useCase: "GetUser", keyType: "user_id", layer: "remote" } as const;
    for (const bytes of [100, 101, 5_000, 99_000_000, Number.NaN]) metrics.observeSize(labels, bytes);
    const text = await registry.metrics();
    expect(samples(text, "dialcache_size_histogram_bucket").map(({ value }) => value)).toEqual([1, 2, 3, 3, 3, 3, 4]);
    expect(value(text, "dialcache_size_histogram_sum")).toBe(100 + 101 + 5_000 + 99_000_000);
    expect(value(text, "dialcache_size_histogram_count")).toBe(4);
  });

  it("prom-client renders the same as for a histogram of its own, whatever stands in a label, with default labels too", async () => {
    const { Histogram } = await import("prom-client");
    const useCase = 'a "quoted" \\ name\nof two lines';
    const ours = new Registry();
    const theirs = new Registry();
    const histogram = new Histogram({
      name: "dialcache_get_timer",
      help: "Duration of lookups in a cache layer, in seconds",
      labelNames: LAYER,
      buckets: SECONDS,
      registers: [theirs],
    });
    const metrics = createPrometheusDialCacheMetrics({ registry: ours });
    for (const seconds of [0.0005, 0.3, 1e-7, 60]) {
      metrics.observeGet({ cacheNamespace: "urn", useCase, keyType: "user_id", layer: "local" }, seconds);
      histogram.observe({ cache_namespace: "urn", use_case: useCase, key_type: "user_id", layer: "local" }, seconds);
    }
    const name = "dialcache_get_timer";
    const lines = async (registry: Registry) =>
      (await registry.getSingleMetricAsString(name)).split("\n").map((line) => line.replace(/\{.*\}/s, sortedLabels));
    expect(await lines(ours)).toEqual(await lines(theirs));
    for (const registry of [ours, theirs]) registry.setDefaultLabels({ app: "users" });
    expect(await lines(ours)).toEqual(await lines(theirs));
    expect((await lines(ours)).filter((line) => line.includes('app="users"'))).toHaveLength(SECONDS.length + 3);
    const json = async (registry: Registry) =>
      (await registry.getMetricsAsJSON()).find((metric) => metric.name === name) as unknown as { values: unknown[] };
    expect((await json(ours)).values.map(withoutExemplar)).toEqual((await json(theirs)).values.map(withoutExemplar));
  });
});

function sortedLabels(labels: string): string {
  return labels.slice(1, -1).split(",").sort().join();
}

function withoutExemplar(sample: unknown): unknown {
  const { value, labels, metricName } = sample as Record<string, unknown>;
  return { value, labels, metricName };
}

describe.each(RIGS)("Prometheus output of a mixed workload: $client, $time", (kind) => {
  const rig = useRig(kind);

  it("counts every event once, whether an adapter of ours or one of the service's own is told", async () => {
    const registry = new Registry();
    const world = await rig.world({
      readTimeoutMs: 10_000,
      config: { metrics: createPrometheusDialCacheMetrics({ registry }) },
    });
    const { cache } = world;
    const told = world.another({ metrics: world.metrics.adapter });
    for (const [cached, id] of [
      [cache, "1"],
      [told, "2"],
    ] as const) {
      const gate = deferred<string>();
      const get = loadOf(cached, "GetUser", (key) => (key.startsWith("slow") ? gate.promise : Promise.resolve(key)), {
        defaultConfig: BOTH,
      });
      const off = loadOf(cached, "Off", async (key) => key, {
        defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, ramp: { local: 0, remote: 0 } }),
      });
      const memo = loadOf(cached, "Memo", async (key) => key, {
        defaultConfig: new DialCacheKeyConfig({ requestLocal: true }),
      });
      // Its delay is over at once, and its read is not.
      const hedged = loadOf(cached, "Hedged", async (key) => key, {
        defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
        readHedge: { delayMs: 0.000_001 },
      });
      const failing = loadOf(cached, "Failing", () => Promise.reject(new Error("down")), { defaultConfig: BOTH });
      await cached.enable(async () => {
        await get(id);
        await get(id);
        await world.plant("GetUser", `bad${id}`, "{not json");
        await get(`bad${id}`);
        const followers = [get(`slow${id}`), get(`slow${id}`), get(`slow${id}`)];
        gate.resolve("late");
        await Promise.all(followers);
        await off(id);
        await Promise.all([memo(id), memo(id)]);
        await memo(id);
        await world.server.freeze();
        const outrun = hedged(id);
        await world.lapse(1);
        await outrun;
        world.server.thaw();
        await expect(failing(id)).rejects.toThrow("down");
        await get("\ud800");
      });
      await get(id);
      await world.written();
    }
    expect(await cache.drain()).toBe(true);

    const text = await registry.metrics();
    const labelsOf = (method: string) => world.metrics.of(method).map(({ labels }) => labels);
    for (const [method, name] of [
      ["request", "dialcache_request_counter"],
      ["miss", "dialcache_miss_counter"],
      ["disabled", "dialcache_disabled_counter"],
      ["error", "dialcache_error_counter"],
      ["coalesced", "dialcache_coalesced_counter"],
      ["readHedge", "dialcache_read_hedge_counter"],
    ] as const) {
      const expected = new Map<string, number>();
      for (const labels of labelsOf(method)) {
        const key = JSON.stringify(Object.values(snakeCased(labels)).map(String).sort());
        expected.set(key, (expected.get(key) ?? 0) + 1);
      }
      const counted = new Map(
        samples(text, name).map(({ labels, value }) => [JSON.stringify(Object.values(labels).sort()), value]),
      );
      expect(counted, method).toEqual(expected);
      expect(expected.size, method).toBeGreaterThan(0);
    }
    for (const [method, name] of [
      ["observeGet", "dialcache_get_timer"],
      ["observeFallback", "dialcache_fallback_timer"],
      ["observeSerialization", "dialcache_serialization_timer"],
      ["observeSize", "dialcache_size_histogram"],
    ] as const) {
      const expected: Record<string, number> = {};
      for (const labels of labelsOf(method)) {
        const key = JSON.stringify(Object.values(snakeCased(labels)).map(String).sort());
        expected[key] = (expected[key] ?? 0) + 1;
      }
      const counted = Object.fromEntries(
        samples(text, `${name}_count`).map(({ labels, value }) => [
          JSON.stringify(Object.values(labels).sort()),
          value,
        ]),
      );
      expect(counted, method).toEqual(expected);
    }
  });
});

function snakeCased(labels: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [
      name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`),
      value,
    ]),
  );
}

describe("Adapters of one registry and prefix are one set of metrics", () => {
  const hits = (text: string, prefix = "") => value(text, `${prefix}dialcache_request_counter`, { layer: "local" });

  async function callTwice(metrics: DialCacheMetricsAdapter, namespace = "urn") {
    const cache = new DialCache({ metrics, namespace, logger: null });
    const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY });
    await cache.enable(async () => [await get("1"), await get("1")]);
    return cache;
  }

  it("several instances, and direct calls, are summed; namespaces stay apart", async () => {
    const registry = new Registry();
    const first = createPrometheusDialCacheMetrics({ registry });
    const second = createPrometheusDialCacheMetrics({ registry });
    await callTwice(first);
    await callTwice(first);
    await callTwice(second);
    await callTwice(second, "other");
    second.request({ cacheNamespace: "urn", useCase: "GetUser", keyType: "user_id", layer: "local" });
    const lines = samples(await registry.metrics(), "dialcache_request_counter");
    expect(lines.map(({ labels: { cache_namespace }, value }) => [cache_namespace, value]).sort()).toEqual([
      ["other", 2],
      ["urn", 7],
    ]);
  });

  it("two prefixes, and two registries, are two sets", async () => {
    const registry = new Registry();
    const other = new Registry();
    await callTwice(createPrometheusDialCacheMetrics({ registry, prefix: "a_" }));
    await callTwice(createPrometheusDialCacheMetrics({ registry, prefix: "b_" }));
    await callTwice(createPrometheusDialCacheMetrics({ registry, prefix: "b_" }));
    const unused = createPrometheusDialCacheMetrics({ registry: other });
    expect(unused).toBeDefined();
    const text = await registry.metrics();
    expect(hits(text, "a_")).toBe(2);
    expect(hits(text, "b_")).toBe(4);
    expect(samples(await other.metrics(), "dialcache_request_counter")).toEqual([]);
  });

  it("a cleared registry gets them back, with all they counted", async () => {
    const registry = new Registry();
    await callTwice(createPrometheusDialCacheMetrics({ registry }));
    registry.clear();
    expect(await registry.metrics()).not.toContain("dialcache");
    await callTwice(createPrometheusDialCacheMetrics({ registry }));
    expect(hits(await registry.metrics())).toBe(4);
  });

  it("resetMetrics() starts from zero, and counting goes on", async () => {
    const registry = new Registry();
    const metrics = createPrometheusDialCacheMetrics({ registry });
    await callTwice(metrics);
    registry.resetMetrics();
    expect(samples(await registry.metrics(), "dialcache_request_counter")).toEqual([]);
    expect(samples(await registry.metrics(), "dialcache_fallback_timer_count")).toEqual([]);
    await callTwice(metrics);
    expect(hits(await registry.metrics())).toBe(2);
  });

  it("another metric of such a name is refused before anything is registered", () => {
    const registry = new Registry();
    new Counter({ name: "dialcache_miss_counter", help: "theirs", registers: [registry] });
    expect(() => createPrometheusDialCacheMetrics({ registry })).toThrow(/dialcache_miss_counter; give another prefix/);
    expect(registry.getMetricsAsArray()).toHaveLength(1);
    expect(() => createPrometheusDialCacheMetrics({ registry, prefix: "x_" })).not.toThrow();
  });

  it("a second copy of this package counts into the same metrics", async () => {
    const registry = new Registry();
    await callTwice(createPrometheusDialCacheMetrics({ registry }));
    vi.resetModules();
    const copy = await import("dialcache-native/prometheus");
    expect(copy.createPrometheusDialCacheMetrics).not.toBe(createPrometheusDialCacheMetrics);
    await callTwice(copy.createPrometheusDialCacheMetrics({ registry }));
    expect(hits(await registry.metrics())).toBe(4);
  });

  it("OpenMetrics, merged registries and single metrics show them too", async () => {
    const registry = new Registry();
    await callTwice(createPrometheusDialCacheMetrics({ registry }));
    expect(hits(await Registry.merge([registry, new Registry()]).metrics())).toBe(2);
    expect(hits(await registry.getSingleMetricAsString("dialcache_request_counter"))).toBe(2);
    const open = new Registry();
    open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
    await callTwice(createPrometheusDialCacheMetrics({ registry: open }));
    const text = await open.metrics();
    expect(value(text, "dialcache_request_counter_total", { layer: "local" })).toBe(2);
    expect(value(text, "dialcache_fallback_timer_count")).toBe(1);
  });
});

describe("Who wraps or watches the adapter is told each event", () => {
  it.each<[string, (metrics: DialCacheMetricsAdapter, request: () => void) => DialCacheMetricsAdapter]>([
    ["a copy with a hook of its own", (metrics, request) => ({ ...metrics, request })],
    ["a hook that was replaced", (metrics, request) => Object.assign(metrics, { request })],
    ["an object that inherits", (metrics, request) => Object.assign(Object.create(metrics), { request })],
  ])("%s", async (_how, wrap) => {
    const registry = new Registry();
    const request = vi.fn((): void => {});
    const cache = new DialCache({
      metrics: wrap(createPrometheusDialCacheMetrics({ registry }), request),
      logger: null,
    });
    const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY });
    await cache.enable(async () => [await get("1"), await get("1")]);
    expect(request).toHaveBeenCalledTimes(2);
    const text = await registry.metrics();
    expect(samples(text, "dialcache_request_counter")).toEqual([]);
    expect(value(text, "dialcache_miss_counter")).toBe(1);
  });
});
