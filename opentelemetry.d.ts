// The public API, generated from lib/metrics/opentelemetry.ts by `npm run types`. Do not edit.
/// <reference types="node" />

import type { DialCacheMetricsAdapter } from "./index.js";

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
export declare function createOpenTelemetryDialCacheMetrics(
  options: OpenTelemetryMetricsOptions,
): FlushableDialCacheMetrics;

/** A metrics adapter that sends its counters every 10 seconds. */
export interface FlushableDialCacheMetrics extends DialCacheMetricsAdapter {
  /** Sends what was counted since the last time. To be called before the backend's client is closed. Never throws. */
  flush(): void;
}

/** What is needed of OpenTelemetry's `Meter`. */
export interface OpenTelemetryMeter {
  createCounter(
    name: string,
    options: {
      description: string;
      unit: string;
    },
  ): {
    add(value: number, attributes: Record<string, string>): unknown;
  };
  createHistogram(
    name: string,
    options: {
      description: string;
      unit: string;
      advice: {
        explicitBucketBoundaries: number[];
      };
    },
  ): {
    record(value: number, attributes: Record<string, string>): unknown;
  };
  /** Without it, what goes up and down is not recorded. */
  createObservableGauge?(
    name: string,
    options: {
      description: string;
      unit: string;
    },
  ): {
    addCallback(callback: (result: OpenTelemetryResult) => void): unknown;
  };
}

/** Options of {@link createOpenTelemetryDialCacheMetrics}: at least one of the two. */
export interface OpenTelemetryMetricsOptions {
  /** Gets the metrics. Default: none are made. */
  readonly meter?: OpenTelemetryMeter | undefined;
  /** Gets the spans. Default: none are made. */
  readonly tracer?: OpenTelemetryTracer | undefined;
}

/** What is needed of OpenTelemetry's `ObservableResult`. */
export interface OpenTelemetryResult {
  observe(value: number, attributes: Record<string, string>): unknown;
}

/** What is needed of OpenTelemetry's `Span`. */
export interface OpenTelemetrySpan {
  setAttribute(name: string, value: string): unknown;
  setStatus(status: { code: number }): unknown;
  end(): void;
}

/** What is needed of OpenTelemetry's `Tracer`. */
export interface OpenTelemetryTracer {
  startActiveSpan(
    name: string,
    options: {
      attributes: Record<string, string>;
    },
    fn: (span: OpenTelemetrySpan) => void,
  ): unknown;
}

export {};
