import type { Countable } from "../figures";
import { makeAttachable } from "../observers";
import { invalid, optionNames, type Place, readOptions, withMethods } from "../option-reader";
import { COUNTED, COUNTING_HOOKS, GAUGE_NAMES, GAUGES, OBSERVED, OBSERVING_HOOKS, tagsOf } from "./catalogue";
import { DeltaReporter, type FlushableDialCacheMetrics } from "./deltas";
import { type Backend, hooksOf } from "./hooks";
import { type OpenTelemetrySpan, type OpenTelemetryTracer, tracingWith } from "./spans";

export type { FlushableDialCacheMetrics, OpenTelemetrySpan, OpenTelemetryTracer };

/** What is needed of OpenTelemetry's `Meter`. */
export interface OpenTelemetryMeter {
  createCounter(
    name: string,
    options: { description: string; unit: string },
  ): { add(value: number, attributes: Record<string, string>): unknown };
  createHistogram(
    name: string,
    options: { description: string; unit: string; advice: { explicitBucketBoundaries: number[] } },
  ): { record(value: number, attributes: Record<string, string>): unknown };
  /** Without it, what goes up and down is not recorded. */
  createObservableGauge?(
    name: string,
    options: { description: string; unit: string },
  ): { addCallback(callback: (result: OpenTelemetryResult) => void): unknown };
}

/** What is needed of OpenTelemetry's `ObservableResult`. */
export interface OpenTelemetryResult {
  observe(value: number, attributes: Record<string, string>): unknown;
}

/** Options of {@link createOpenTelemetryDialCacheMetrics}: at least one of the two. */
export interface OpenTelemetryMetricsOptions {
  /** Gets the metrics. Default: none are made. */
  readonly meter?: OpenTelemetryMeter | undefined;
  /** Gets the spans. Default: none are made. */
  readonly tracer?: OpenTelemetryTracer | undefined;
}

const PLACE: Place = { api: "createOpenTelemetryDialCacheMetrics()", path: "" };
const OPTIONS = optionNames("meter", "tracer");

/**
 * A metrics adapter for OpenTelemetry. Its metrics are named `dialcache.request.count`, `dialcache.get.duration` and so on,
 * with the attributes that the other adapters' labels are. Durations (in seconds) and sizes (in bytes) are recorded as
 * they happen, the counters of instances that are given the adapter every 10 seconds; a process that ends in between calls
 * `flush()` first.
 *
 * Its spans are `dialcache.read`, `dialcache.source` and `dialcache.write`, made for leaders only, below the span that is
 * active where the cached function was called. While a source or a Redis client starts its work, its span is the active
 * one. They hold neither keys nor errors' messages.
 * @throws TypeError or RangeError naming a bad option.
 */
export function createOpenTelemetryDialCacheMetrics(options: OpenTelemetryMetricsOptions): FlushableDialCacheMetrics {
  const { meter: givenMeter, tracer: givenTracer } = readOptions(options, PLACE, OPTIONS);
  if (givenMeter === undefined && givenTracer === undefined) {
    throw invalid(TypeError, PLACE, "meter", "meter or tracer is required");
  }
  const methods = ["createCounter", "createHistogram"];
  const meter =
    givenMeter === undefined ? undefined : withMethods<OpenTelemetryMeter>(givenMeter, PLACE, "meter", methods);
  const tracer =
    givenTracer === undefined
      ? undefined
      : withMethods<OpenTelemetryTracer>(givenTracer, PLACE, "tracer", ["startActiveSpan"]);

  const counters = new Map(
    COUNTING_HOOKS.map((hook) => {
      const { dotted, help } = COUNTED[hook];
      return [hook, meter?.createCounter(`dialcache.${dotted}`, { description: help, unit: "1" })];
    }),
  );
  const histograms = new Map(
    OBSERVING_HOOKS.map((hook) => {
      const { dotted, help, unit, buckets } = OBSERVED[hook];
      const advice = { explicitBucketBoundaries: [...buckets] };
      return [hook, meter?.createHistogram(`dialcache.${dotted}`, { description: help, unit, advice })];
    }),
  );
  const backend: Backend = {
    count: (hook, labels) => counters.get(hook)?.add(1, tagsOf(COUNTED[hook], labels)),
    observe: (hook, labels, value) => histograms.get(hook)?.record(value, tagsOf(OBSERVED[hook], labels)),
  };
  const reporter = new DeltaReporter((hook, tags, delta) => counters.get(hook)?.add(delta, { ...tags }));
  for (const gauge of GAUGE_NAMES) {
    const { dotted, help, unit } = GAUGES[gauge];
    meter?.createObservableGauge?.(`dialcache.${dotted}`, { description: help, unit }).addCallback((result) => {
      reporter.gauges((reading) => {
        if (reading.gauge === gauge) result.observe(reading.value, tagsOf(GAUGES[gauge], reading.labels));
      });
    });
  }
  const hooks = hooksOf(backend);
  const adapter = { ...hooks, flush: (): void => void reporter.flush() };
  const attach = (figures: Countable, owner: object): void => {
    if (meter !== undefined) reporter.attach(figures, owner);
  };
  makeAttachable(adapter, { hooks, attach, tracing: tracer === undefined ? undefined : tracingWith(tracer) });
  return adapter;
}
