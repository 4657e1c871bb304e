import type { GaugeName, Reading } from "../figures";
import type { DialCacheMetricsAdapter } from "../metrics";
import type { CountingHook } from "../tally";

/** Hooks of a metrics adapter that observe a number. */
export type ObservingHook = Exclude<keyof DialCacheMetricsAdapter, CountingHook>;

/** A label object as an adapter's hooks get it. */
export type HookLabels =
  | Parameters<Required<DialCacheMetricsAdapter>[keyof DialCacheMetricsAdapter]>[0]
  | Reading["labels"];

/** One metric, under the names that DialCache for TypeScript gives it. */
export interface Metric {
  /** After the prefix, in a Prometheus registry. */
  readonly prometheus: string;
  /** After the namespace, where names have dots. */
  readonly dotted: string;
  readonly help: string;
  /** Members of the label object, in the order of the labels. */
  readonly labels: readonly string[];
}

/** A metric of a number that goes up and down. */
export interface GaugeMetricInfo extends Metric {
  /** Unit as UCUM writes it. */
  readonly unit: "s" | "1";
}

/** A metric of a measured number. */
export interface ObservedMetric extends Metric {
  /** Unit as UCUM writes it. */
  readonly unit: "s" | "By" | "1";
  readonly buckets: readonly number[];
}

const USE_CASE = ["cacheNamespace", "useCase", "keyType"];
const LAYER = [...USE_CASE, "layer"];

/** The counters. */
export const COUNTED: Readonly<Record<CountingHook, Metric>> = {
  request: {
    prometheus: "dialcache_request_counter",
    dotted: "request.count",
    help: "Lookups in a cache layer that was on",
    labels: LAYER,
  },
  miss: {
    prometheus: "dialcache_miss_counter",
    dotted: "miss.count",
    help: "Lookups in a cache layer that found nothing usable",
    labels: LAYER,
  },
  disabled: {
    prometheus: "dialcache_disabled_counter",
    dotted: "disabled.count",
    help: "Calls that skipped a cache layer, by reason",
    labels: [...LAYER, "reason"],
  },
  error: {
    prometheus: "dialcache_error_counter",
    dotted: "error.count",
    help: "Failures of the cache or of the source, by what failed",
    labels: [...LAYER, "error", "inFallback"],
  },
  invalidation: {
    prometheus: "dialcache_invalidation_counter",
    dotted: "invalidation.count",
    help: "Invalidations asked for",
    labels: ["cacheNamespace", "keyType", "layer"],
  },
  coalesced: {
    prometheus: "dialcache_coalesced_counter",
    dotted: "coalesced.count",
    help: "Calls that joined the work of another call",
    labels: [...USE_CASE, "scope"],
  },
  readHedge: {
    prometheus: "dialcache_read_hedge_counter",
    dotted: "read_hedge.count",
    help: "Hedged Redis reads, by what came of them, and hedges denied",
    labels: [...USE_CASE, "outcome"],
  },
  shadowValidation: {
    prometheus: "dialcache_shadow_validation_counter",
    dotted: "shadow.count",
    help: "Sampled comparisons of Redis with the source, by how they ended",
    labels: [...USE_CASE, "outcome"],
  },
  compression: {
    prometheus: "dialcache_compression_counter",
    dotted: "compression.count",
    help: "Payloads that passed the compressor, by what became of them",
    labels: [...LAYER, "outcome"],
  },
  hedge: {
    prometheus: "dialcache_hedge_total",
    dotted: "hedge.count",
    help: "Hedges of sources, by what happened to them",
    labels: ["source", "event"],
  },
  sourceAttempt: {
    prometheus: "dialcache_source_attempt_total",
    dotted: "source_attempt.count",
    help: "Attempts of sources, by what started them and how they ended",
    labels: ["source", "kind", "outcome"],
  },
};

const SECONDS = { unit: "s", buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] } as const;
const BYTES = { unit: "By", buckets: [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] } as const;
const RATIO = { unit: "1", buckets: [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1] } as const;
const AGE = {
  unit: "s",
  buckets: [1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 259_200, 604_800],
} as const;

/** The histograms. */
export const OBSERVED: Readonly<Record<ObservingHook, ObservedMetric>> = {
  observeGet: {
    prometheus: "dialcache_get_timer",
    dotted: "get.duration",
    help: "Duration of lookups in a cache layer, in seconds",
    labels: LAYER,
    ...SECONDS,
  },
  observeFallback: {
    prometheus: "dialcache_fallback_timer",
    dotted: "fallback.duration",
    help: "Duration of the source, up to its result or its deadline, in seconds",
    labels: LAYER,
    ...SECONDS,
  },
  observeSerialization: {
    prometheus: "dialcache_serialization_timer",
    dotted: "serialization.duration",
    help: "Duration of a serializer's dump or load, in seconds",
    labels: [...LAYER, "operation"],
    ...SECONDS,
  },
  observeCompression: {
    prometheus: "dialcache_compression_timer",
    dotted: "compression.duration",
    help: "Duration of compressing or decompressing a payload, in seconds",
    labels: [...LAYER, "operation"],
    ...SECONDS,
  },
  observeSize: {
    prometheus: "dialcache_size_histogram",
    dotted: "serialization.size",
    help: "Size of serialized payloads before compression, in bytes",
    labels: LAYER,
    ...BYTES,
  },
  observeStoredSize: {
    prometheus: "dialcache_stored_size_histogram",
    dotted: "stored.size",
    help: "Size of payloads as they are stored, in bytes",
    labels: LAYER,
    ...BYTES,
  },
  observeCompressionRatio: {
    prometheus: "dialcache_compression_ratio_histogram",
    dotted: "compression.ratio",
    help: "Stored size of compressed payloads divided by their serialized size",
    labels: LAYER,
    ...RATIO,
  },
  observeShadowValueAge: {
    prometheus: "dialcache_shadow_value_age_histogram",
    dotted: "shadow.value_age",
    help: "Age of Redis values that were compared with the source, in seconds",
    labels: [...USE_CASE, "outcome"],
    ...AGE,
  },
};

const SOURCE = ["source"];

/** What goes up and down. Of two sources that have one name, either may be seen. */
export const GAUGES: Readonly<Record<GaugeName, GaugeMetricInfo>> = {
  hedgeDelay: {
    prometheus: "dialcache_hedge_delay_seconds",
    dotted: "hedge.delay",
    help: "How long a source's call waits for its first attempt before it hedges, in seconds",
    labels: SOURCE,
    unit: "s",
  },
  hedgeTokens: {
    prometheus: "dialcache_hedge_tokens",
    dotted: "hedge.tokens",
    help: "Hedges that a source's budget allows now",
    labels: SOURCE,
    unit: "1",
  },
  breakerState: {
    prometheus: "dialcache_breaker_state",
    dotted: "breaker.state",
    help: "What a source's endpoint lets through: 0 everything, 1 one probe, 2 nothing",
    labels: [...SOURCE, "endpoint"],
    unit: "1",
  },
};

/** Names of the gauges. */
export const GAUGE_NAMES = Object.keys(GAUGES) as GaugeName[];

/** Hooks that count. */
export const COUNTING_HOOKS = Object.keys(COUNTED) as CountingHook[];

/** Hooks that observe. */
export const OBSERVING_HOOKS = Object.keys(OBSERVED) as ObservingHook[];

/** Labels under the names that backends know them by. */
export type Tags = Readonly<Record<string, string>>;

const TAG_NAMES: Readonly<Record<string, string>> = {
  cacheNamespace: "cache_namespace",
  useCase: "use_case",
  keyType: "key_type",
  inFallback: "in_fallback",
};

const tagName = (label: string): string => TAG_NAMES[label] ?? label;

/** Names of a metric's tags. */
export function tagNames(metric: Metric): string[] {
  return metric.labels.map(tagName);
}

/** A metric's tags, made of the labels it has and nothing else that may stand in the object. */
export function tagsOf(metric: Metric, labels: HookLabels): Tags {
  const given = labels as unknown as Record<string, unknown>;
  const tags: Record<string, string> = {};
  for (const label of metric.labels) tags[tagName(label)] = String(given[label]);
  return tags;
}

/** Names a metric's tags: equal for equal ones, and only for them. */
export function tagsKey(metric: Metric, labels: HookLabels): string {
  const given = labels as unknown as Record<string, unknown>;
  return JSON.stringify(metric.labels.map((label) => String(given[label])));
}
