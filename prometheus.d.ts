// The public API, generated from lib/metrics/prometheus.ts by `npm run types`. Do not edit.
/// <reference types="node" />

import type { DialCacheMetricsAdapter } from "./index.js";

/**
 * A metrics adapter for Prometheus: metrics in a registry of prom-client 15 that the service owns, with the names and
 * labels of DialCache for TypeScript.
 *
 * Instances that are given the adapter are summed. Their counters are read when the registry is scraped, and cost a call
 * nothing; only durations and sizes, of calls that reach Redis or the source, are observed as they happen. Adapters of one
 * registry and prefix are the same set of metrics.
 * @throws TypeError or RangeError naming a bad option, or when the registry has another metric of such a name.
 */
export declare function createPrometheusDialCacheMetrics(options: PrometheusMetricsOptions): DialCacheMetricsAdapter;

/** Options of {@link createPrometheusDialCacheMetrics}. */
export interface PrometheusMetricsOptions {
  /** The service's own registry. Nothing but metrics is ever put into it, and nothing taken out. */
  readonly registry: PrometheusRegistry;
  /** Before each metric's name, as it stands: `"myapp_"` makes `myapp_dialcache_request_counter`. Default: none. */
  readonly prefix?: string | undefined;
}

/** What is needed of prom-client's `Registry`. */
export interface PrometheusRegistry {
  registerMetric(metric: never): void;
  getSingleMetric(name: string): unknown;
}

export {};
