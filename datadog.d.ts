// The public API, generated from lib/metrics/datadog.ts by `npm run types`. Do not edit.
/// <reference types="node" />

import type { DialCacheMetricsAdapter } from "./index.js";

/**
 * A metrics adapter for Datadog, with the names and tags of DialCache for TypeScript. Durations (in seconds) and sizes (in
 * bytes) are sent as they happen. The counters of instances that are given the adapter are sent every 10 seconds, as far
 * as they grew; a process that ends in between calls `flush()` first.
 * @throws TypeError or RangeError naming a bad option.
 */
export declare function createDatadogDialCacheMetrics(options: DatadogMetricsOptions): FlushableDialCacheMetrics;

/** What is needed of a DogStatsD client such as hot-shots'. */
export interface DatadogDogStatsDClient {
  increment(name: string, value: number, tags?: Record<string, string>): unknown;
  histogram(name: string, value: number, tags?: Record<string, string>): unknown;
  distribution(name: string, value: number, tags?: Record<string, string>): unknown;
  /** Without it, what goes up and down is not sent. */
  gauge?(name: string, value: number, tags?: Record<string, string>): unknown;
}

/** Options of {@link createDatadogDialCacheMetrics}. */
export interface DatadogMetricsOptions {
  /** The service's own client: never flushed or closed here. */
  readonly client: DatadogDogStatsDClient;
  /** Required, for the two are billed and queried differently. */
  readonly observationMetricType: DatadogObservationMetricType;
  /** Before each metric's name, with a dot between. Default: `"dialcache"`. */
  readonly namespace?: string | undefined;
}

/** A metrics adapter that sends its counters every 10 seconds. */
export interface FlushableDialCacheMetrics extends DialCacheMetricsAdapter {
  /** Sends what was counted since the last time. To be called before the backend's client is closed. Never throws. */
  flush(): void;
}

/** How durations and sizes are sent: aggregated over all hosts, or by each host's agent. */
export type DatadogObservationMetricType = "distribution" | "histogram";

export {};
