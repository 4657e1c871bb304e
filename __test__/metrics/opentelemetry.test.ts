import { context, type Meter, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { createOpenTelemetryDialCacheMetrics } from "dialcache-native/opentelemetry";
import { installClock, manualClock } from "dialcache-native/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ScriptedClient } from "../support/clients";
import { RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";
import { loadOf } from "./support";

failOnUnhandled();

const BOTH = new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 } });
const NAMES = { cache_namespace: "urn", use_case: "GetUser", key_type: "user_id" };

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});

afterAll(() => {
  context.disable();
});

function metricsOf() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 })],
  });
  onTestFinished(() => provider.shutdown());
  return {
    meter: provider.getMeter("test"),
    /** The data points of one metric, with its unit. */
    async read(name: string) {
      exporter.reset();
      await provider.forceFlush();
      const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
      const metric = scopes.flatMap(({ metrics }) => metrics).find(({ descriptor }) => descriptor.name === name);
      return {
        unit: metric?.descriptor.unit,
        points: (metric?.dataPoints ?? []).map(({ attributes, value }) => ({ attributes, value })),
      };
    },
  };
}

function tracing() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer("test");
  return {
    tracer,
    /** Runs `fn` in a span of the caller's. */
    caller: <T>(fn: () => Promise<T>): Promise<T> =>
      tracer.startActiveSpan("caller", async (span) => {
        try {
          return await fn();
        } finally {
          span.end();
        }
      }),
    spans: () => exporter.getFinishedSpans(),
    one(name: string): ReadableSpan {
      const found = exporter.getFinishedSpans().filter((span) => span.name === name);
      expect(found.map((span) => span.name)).toEqual([name]);
      return found[0] as ReadableSpan;
    },
  };
}

function cacheOver(client: ScriptedClient, options: { meter?: Meter; tracer?: Tracer }): DialCache {
  const metrics = createOpenTelemetryDialCacheMetrics(options);
  return new DialCache({ metrics, logger: null, redis: { client, readTimeoutMs: 1_000 } });
}

describe("OpenTelemetry metrics", () => {
  it("counters every 10 seconds, durations and sizes as they happen", async () => {
    const clock = manualClock();
    onTestFinished(installClock(clock));
    const metrics = metricsOf();
    const client = new ScriptedClient();
    client.autoRead = () => null;
    client.autoWrite = () => true;
    const cache = cacheOver(client, { meter: metrics.meter });
    const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: BOTH });
    await cache.enable(async () => [await get("1"), await get("1")]);
    await cache.drain();

    const remote = { ...NAMES, layer: "remote" };
    expect(await metrics.read("dialcache.fallback.duration")).toMatchObject({
      unit: "s",
      points: [{ attributes: remote, value: { count: 1 } }],
    });
    expect(await metrics.read("dialcache.serialization.size")).toMatchObject({
      unit: "By",
      points: [
        {
          attributes: remote,
          value: { count: 1, sum: 3, buckets: { boundaries: [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] } },
        },
      ],
    });
    expect((await metrics.read("dialcache.request.count")).points).toEqual([]);
    await clock.advance(10_000);
    expect((await metrics.read("dialcache.request.count")).points).toEqual([
      { attributes: { ...NAMES, layer: "local" }, value: 2 },
      { attributes: remote, value: 1 },
    ]);
    expect((await metrics.read("dialcache.miss.count")).points).toHaveLength(2);
  });

  it("flush() records what was counted, and direct calls count at once", async () => {
    const metrics = metricsOf();
    const adapter = createOpenTelemetryDialCacheMetrics({ meter: metrics.meter });
    const cache = new DialCache({ metrics: adapter, logger: null });
    await loadOf(cache, "GetUser", async (id) => id, {})("1");
    adapter.flush();
    adapter.disabled({
      cacheNamespace: "urn",
      useCase: "GetUser",
      keyType: "user_id",
      layer: "noop",
      reason: "context",
    });
    expect((await metrics.read("dialcache.disabled.count")).points).toEqual([
      { attributes: { ...NAMES, layer: "noop", reason: "context" }, value: 2 },
    ]);
  });
});

describe.each(RIGS)("OpenTelemetry spans: $client, $time", (kind) => {
  const rig = useRig(kind);

  it("of read, source and write stand below the caller's, and those of the source below its own", async () => {
    const spans = tracing();
    const world = await rig.world({
      readTimeoutMs: 10_000,
      config: { metrics: createOpenTelemetryDialCacheMetrics({ tracer: spans.tracer }) },
    });
    const { cache } = world;
    const get = loadOf(
      cache,
      "GetUser",
      (id) =>
        spans.tracer.startActiveSpan("query", async (span) => {
          await null;
          span.end();
          return id;
        }),
      { defaultConfig: BOTH },
    );
    // A follower and a local hit make no spans.
    await spans.caller(() => cache.enable(() => Promise.all([get("secret-1"), get("secret-1")])));
    await spans.caller(() => cache.enable(() => get("secret-1")));
    await world.written();

    const caller = spans.spans().filter(({ name }) => name === "caller")[0] as ReadableSpan;
    const names = spans.spans().map(({ name }) => name);
    expect(names.sort()).toEqual([
      "caller",
      "caller",
      "dialcache.read",
      "dialcache.source",
      "dialcache.write",
      "query",
    ]);
    for (const [name, outcome] of [
      ["dialcache.read", "miss"],
      ["dialcache.source", "ok"],
      ["dialcache.write", "ok"],
    ] as const) {
      const span = spans.one(name);
      expect(span.parentSpanContext?.spanId, name).toBe(caller.spanContext().spanId);
      expect(span.attributes).toEqual({ ...NAMES, cache_namespace: world.namespace, outcome });
      expect(span.status.code).toBe(SpanStatusCode.UNSET);
    }
    expect(spans.one("query").parentSpanContext?.spanId).toBe(spans.one("dialcache.source").spanContext().spanId);
    const told = spans.spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
    expect(JSON.stringify(told)).not.toContain("secret");
  });

  it("of a read that is late, and of a source that fails, are errors without a message", async () => {
    const spans = tracing();
    const world = await rig.world({
      config: { metrics: createOpenTelemetryDialCacheMetrics({ tracer: spans.tracer }) },
    });
    const load = world.load("GetUser", () => Promise.reject(new Error("secret")));
    await world.server.freeze();
    const result = load("1");
    const failed = expect(result).rejects.toThrow("secret");
    await world.readStarted("GetUser");
    await world.lapse();
    await failed;
    for (const [name, outcome] of [
      ["dialcache.read", "timeout"],
      ["dialcache.source", "error"],
    ] as const) {
      const { attributes, status, events } = spans.one(name);
      expect(attributes).toMatchObject({ outcome });
      expect(status).toEqual({ code: SpanStatusCode.ERROR });
      expect(events).toEqual([]);
    }
    expect(spans.spans()).toHaveLength(2);
  });
});

describe("OpenTelemetry spans of tracked writes", () => {
  const rig = useRig({ client: "native client", time: "real time" });

  it.each(["ok", "fenced"])("through a native client say what became of them: %s", async (outcome) => {
    const spans = tracing();
    const metrics = createOpenTelemetryDialCacheMetrics({ tracer: spans.tracer });
    const { cache, written, stats } = await rig.world({ readTimeoutMs: 10_000, config: { metrics } });
    const source = async (id: string) => {
      if (outcome === "fenced") await cache.invalidateRemote("user_id", id, 60_000);
      return id;
    };
    const get = loadOf(cache, "GetUser", source, { defaultConfig: BOTH, trackForInvalidation: true });
    await cache.enable(() => get("1"));
    await written();
    expect(stats("GetUser").writes).toMatchObject({ [outcome]: 1, failed: 0 });
    expect(spans.one("dialcache.write").attributes).toMatchObject({ outcome });
    expect(spans.one("dialcache.write").status.code).toBe(SpanStatusCode.UNSET);
  });
});

describe("OpenTelemetry spans of a client of the service's", () => {
  it("a client's own spans stand below the read and the write", async () => {
    const spans = tracing();
    const client = new ScriptedClient();
    const active: (string | undefined)[] = [];
    client.autoRead = () => {
      active.push(trace.getActiveSpan()?.spanContext().spanId);
      return null;
    };
    client.autoWrite = () => {
      active.push(trace.getActiveSpan()?.spanContext().spanId);
      return true;
    };
    const cache = cacheOver(client, { tracer: spans.tracer });
    const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: BOTH });
    await spans.caller(() => cache.enable(() => get("1")));
    await cache.drain();
    const ids = ["dialcache.read", "dialcache.write"].map((name) => spans.one(name).spanContext().spanId);
    expect(active).toEqual(ids);
  });

  it("a rejected write and a refused one say so", async () => {
    const spans = tracing();
    const client = new ScriptedClient();
    client.autoRead = () => null;
    const cache = cacheOver(client, { tracer: spans.tracer });
    const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: BOTH });
    client.autoWrite = () => Promise.reject(new Error("read only"));
    await cache.enable(() => get("1"));
    client.autoWrite = () => false;
    await cache.enable(() => get("2"));
    await cache.drain();
    const writes = spans.spans().filter(({ name }) => name === "dialcache.write");
    expect(writes.map(({ attributes: { outcome }, status }) => [outcome, status.code])).toEqual([
      ["error", SpanStatusCode.ERROR],
      ["fenced", SpanStatusCode.UNSET],
    ]);
  });

  const fail = () => {
    throw new Error("tracer");
  };
  const badSpan = { setAttribute: fail, setStatus: fail, end: fail };
  it.each<[string, (fn: (span: typeof badSpan) => void) => unknown]>([
    ["throws", fail],
    ["never calls back", () => undefined],
    [
      "calls back twice",
      (fn) => {
        fn(badSpan);
        fn(badSpan);
      },
    ],
    [
      "throws afterwards",
      (fn) => {
        fn(badSpan);
        fail();
      },
    ],
  ])("a tracer that %s changes nothing", async (_how, start) => {
    const client = new ScriptedClient();
    client.autoRead = () => null;
    client.autoWrite = () => true;
    const tracer = {
      startActiveSpan: (_name: string, _options: object, fn: (span: typeof badSpan) => void) => start(fn),
    };
    const cache = cacheOver(client, { tracer: tracer as unknown as Tracer });
    let calls = 0;
    const get = loadOf(
      cache,
      "GetUser",
      async (id) => {
        calls += 1;
        if (id === "bad") throw new RangeError("source");
        return id;
      },
      { defaultConfig: BOTH },
    );
    expect(await cache.enable(() => get("1"))).toBe("1");
    await expect(cache.enable(() => get("bad"))).rejects.toThrow(RangeError);
    expect(calls).toBe(2);
    expect(await cache.drain()).toBe(true);
    expect(client.log).toEqual(["read", "write", "read"]);
  });
});
