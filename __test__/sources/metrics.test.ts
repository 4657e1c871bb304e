import { Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import { DialCacheKeyConfig } from "../../lib/config";
import { DialCache } from "../../lib/dialcache";
import type { DialCacheMetricsAdapter } from "../../lib/metrics";
import { createDatadogDialCacheMetrics } from "../../lib/metrics/datadog";
import { createOpenTelemetryDialCacheMetrics } from "../../lib/metrics/opentelemetry";
import { createPrometheusDialCacheMetrics } from "../../lib/metrics/prometheus";
import { source } from "../../lib/source";
import { connectionError, rejection, soon, stage, useManualClock } from "../support/sources";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();
const installed = useManualClock();

/** One call that a hedge wins, and one whose hedge the gate denies and whose only endpoint then fails. */
async function play(metrics: DialCacheMetricsAdapter, inCache: boolean): Promise<void> {
  const clock = installed();
  const { fns, attempts } = stage(2);
  let open = true;
  const users = source(fns, {
    name: "users",
    idempotent: true,
    hedge: { delayMs: 10, gate: () => open },
    breaker: {},
    ...(inCache ? {} : { metrics }),
  });
  let load: (id: string) => Promise<unknown> = (id) => users.execute({}, id);
  if (inCache) {
    const cache = new DialCache({ namespace: "metrics", metrics, logger: null });
    for (const useCase of ["GetUser", "GetUserAgain"]) {
      const getUser = cache.cached(users as unknown as (id: string) => Promise<string>, {
        keyType: "user_id",
        useCase,
        cacheKey: (id: string) => id,
        defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60 } }),
      });
      load = (id) => cache.enable(() => getUser(id));
    }
  }
  const won = load("1");
  await clock.advance(10);
  attempts[1]?.resolve("hedge");
  await won;
  open = false;
  const failed = rejection(load("2"));
  await clock.advance(10);
  attempts[2]?.reject(connectionError());
  await failed;
  await soon();
}

const COUNTED = [
  ["hedge", { source: "users", event: "denied_gate" }],
  ["hedge", { source: "users", event: "started" }],
  ["hedge", { source: "users", event: "won" }],
  ["sourceAttempt", { source: "users", kind: "hedge", outcome: "ok" }],
  ["sourceAttempt", { source: "users", kind: "primary", outcome: "cancelled" }],
  ["sourceAttempt", { source: "users", kind: "primary", outcome: "error" }],
];

describe.each([
  ["used by a cache", true],
  ["of its own", false],
])("the metrics adapter of a source %s", (_what, inCache) => {
  it("is told each event, once, before the call settles", async () => {
    const told: [string, object][] = [];
    const adapter = {
      request: () => {},
      hedge: (labels: object) => void told.push(["hedge", labels]),
      sourceAttempt: (labels: object) => void told.push(["sourceAttempt", labels]),
    } as unknown as DialCacheMetricsAdapter;
    await play(adapter, inCache);
    expect(told.sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual(
      [...COUNTED].sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    );
  });

  it("of Prometheus reads the same at scrape time, and what goes up and down", async () => {
    const registry = new Registry();
    await play(createPrometheusDialCacheMetrics({ registry }), inCache);
    const text = await registry.metrics();
    for (const line of [
      'dialcache_hedge_total{source="users",event="started"} 1',
      'dialcache_hedge_total{source="users",event="won"} 1',
      'dialcache_hedge_total{source="users",event="denied_gate"} 1',
      'dialcache_source_attempt_total{source="users",kind="hedge",outcome="ok"} 1',
      'dialcache_source_attempt_total{source="users",kind="primary",outcome="error"} 1',
      "# TYPE dialcache_hedge_delay_seconds gauge",
      'dialcache_hedge_delay_seconds{source="users"} 0.01',
      'dialcache_hedge_tokens{source="users"} 9',
      'dialcache_breaker_state{source="users",endpoint="0"} 0',
      'dialcache_breaker_state{source="users",endpoint="1"} 0',
    ]) {
      expect(text).toContain(line);
    }
    expect(await registry.getMetricsAsJSON()).toContainEqual(
      expect.objectContaining({
        name: "dialcache_hedge_tokens",
        type: "gauge",
        values: [expect.objectContaining({ labels: { source: "users" } })],
      }),
    );
  });

  it("of Datadog sends deltas, and what goes up and down", async () => {
    const client = { increment: vi.fn(), histogram: vi.fn(), distribution: vi.fn(), gauge: vi.fn() };
    const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: "histogram" });
    await play(metrics, inCache);
    metrics.flush();
    expect(client.increment).toHaveBeenCalledWith("dialcache.hedge.count", 1, { source: "users", event: "won" });
    expect(client.increment).toHaveBeenCalledWith("dialcache.source_attempt.count", 1, {
      source: "users",
      kind: "primary",
      outcome: "cancelled",
    });
    expect(client.gauge).toHaveBeenCalledWith("dialcache.hedge.delay", 0.01, { source: "users" });
    expect(client.gauge).toHaveBeenCalledWith("dialcache.breaker.state", 0, { source: "users", endpoint: "1" });
    client.increment.mockClear();
    metrics.flush();
    expect(client.increment).not.toHaveBeenCalled();
  });

  it("of Datadog does without a client's gauge", async () => {
    const client = { increment: vi.fn(), histogram: vi.fn(), distribution: vi.fn() };
    const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: "histogram" });
    await play(metrics, inCache);
    metrics.flush();
    expect(client.increment).toHaveBeenCalled();
  });

  it("of OpenTelemetry observes what goes up and down when it is asked", async () => {
    const asked: (() => void)[] = [];
    const observed: [string, number, object][] = [];
    const add = vi.fn();
    const meter = {
      createCounter: () => ({ add }),
      createHistogram: () => ({ record: () => {} }),
      createObservableGauge: (name: string) => ({
        addCallback: (callback: (result: { observe(value: number, attributes: object): void }) => void) => {
          asked.push(() => callback({ observe: (value, attributes) => void observed.push([name, value, attributes]) }));
        },
      }),
    };
    const metrics = createOpenTelemetryDialCacheMetrics({ meter });
    await play(metrics, inCache);
    metrics.flush();
    expect(add).toHaveBeenCalledWith(1, { source: "users", event: "won" });
    for (const ask of asked) ask();
    expect(observed).toContainEqual(["dialcache.hedge.delay", 0.01, { source: "users" }]);
    expect(observed).toContainEqual(["dialcache.hedge.tokens", expect.any(Number), { source: "users" }]);
    expect(observed).toContainEqual(["dialcache.breaker.state", 0, { source: "users", endpoint: "0" }]);
    expect(observed).toHaveLength(4);
  });
});

describe("an adapter", () => {
  it("that throws changes nothing", async () => {
    const adapter = {
      request: () => {},
      hedge: () => {
        throw new Error("adapter");
      },
      sourceAttempt: async () => Promise.reject(new Error("adapter")),
    } as unknown as DialCacheMetricsAdapter;
    await play(adapter, false);
  });

  it("given to the source and to the cache counts once", async () => {
    const registry = new Registry();
    const metrics = createPrometheusDialCacheMetrics({ registry });
    const users = source(() => "x", { name: "users", metrics });
    const cache = new DialCache({ namespace: "metrics", metrics, logger: null });
    const options = { keyType: "user_id", cacheKey: () => "1" };
    const getUser = cache.cached(users, { ...options, useCase: "GetUser" });
    await cache.enable(() => getUser());
    expect(await registry.metrics()).toContain(
      'dialcache_source_attempt_total{source="users",kind="primary",outcome="ok"} 1',
    );
  });
});
