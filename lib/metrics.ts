import type { CacheLayer } from "./config";
import { callGuarded } from "./guard";
import type { AttemptKind, AttemptOutcome, HedgeEvent } from "./source-types";

/** Layer a call reached; `noop` when none was. */
export type MetricLayer = CacheLayer | "request_local" | "remote_shadow" | "noop";

/** Whose flight a follower joined. */
export type CoalescingScope = "request_local" | "process";

/** Why a layer, or the whole call, was skipped. */
export type DisabledReason =
  | "context"
  | "policy_disabled"
  | "invalid_ttl"
  | "invalid_ramp"
  | "ramped_down"
  | "config_error";

/** Where something failed: never an error's name, class or message. */
export type MetricErrorKind =
  | "key_construction"
  | "config_resolution"
  | "cache_read"
  | "cache_write"
  | "serialization_load"
  | "serialization_dump"
  | "compression"
  | "invalidation"
  | "fallback"
  | "unknown";

/**
 * How the shadow validation of a sampled call ended.
 * - `match`: Redis and source agree.
 * - `mismatch`: they differ, and Redis, read once more, still held the same bytes.
 * - `superseded`: they differ, but Redis then held other bytes, or none.
 * - `filled`: Redis held nothing, and took the source's value.
 * - `fill_blocked`: it was not filled, because the id had been invalidated.
 * - `fill_error`: it was not filled, because serializing or writing failed.
 * - `redis_error`: Redis could not be read in time.
 * - `source_error`: the source failed or timed out.
 * - `deserialization_error`: the serializer rejected the payload, which stays as it is.
 * - `comparison_error`: the comparator threw, or did not return a boolean.
 * - `confirmation_error`: the values differ, and Redis could not be read once more.
 * - `timeout`: all that took longer than `fallbackTimeoutMs`.
 * - `dropped`: `shadowMaxInFlight` were under way, or one of the same key.
 */
export type ShadowValidationOutcome =
  | "match"
  | "mismatch"
  | "superseded"
  | "filled"
  | "fill_blocked"
  | "fill_error"
  | "redis_error"
  | "source_error"
  | "deserialization_error"
  | "comparison_error"
  | "confirmation_error"
  | "timeout"
  | "dropped";

/** What became of a read that was hedged, or would have been. */
export type ReadHedgeOutcome = "hit" | "outrun" | "source_error" | "denied";

/** What became of a payload on its way through the compressor. */
export type CompressionOutcome =
  | "compressed"
  | "below_threshold"
  | "not_smaller"
  | "write_over_limit"
  | "decompressed"
  | "fallback_raw"
  | "read_over_limit";

/** Labels of most events. All values are bounded: no key, id, value, message or duration is ever among them. */
export interface CacheMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** Name of what is computed. */
  readonly useCase: string;
  /** What kind of id the key holds. */
  readonly keyType: string;
  /** Layer the event is about. */
  readonly layer: MetricLayer;
}

/** Labels of a layer, or of a whole call, that was skipped. */
export interface DisabledMetricLabels extends CacheMetricLabels {
  /** Why it was. */
  readonly reason: DisabledReason;
}

/** Labels of a failure. */
export interface ErrorMetricLabels extends CacheMetricLabels {
  /** What failed. */
  readonly error: MetricErrorKind;
  /** True when the source failed, false when the cache did. */
  readonly inFallback: boolean;
}

/** Labels of a serializer's work. */
export interface SerializationMetricLabels extends CacheMetricLabels {
  /** Which of its methods. */
  readonly operation: "dump" | "load";
}

/** Labels of a payload that passed the compressor. */
export interface CompressionMetricLabels extends CacheMetricLabels {
  /** What became of it. */
  readonly outcome: CompressionOutcome;
}

/** Labels of the compressor's work. */
export interface CompressionOperationMetricLabels extends CacheMetricLabels {
  /** Which way. */
  readonly operation: "compress" | "decompress";
}

/** Labels of an invalidation. */
export interface InvalidationMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** What kind of id was invalidated. */
  readonly keyType: string;
  /** Where. */
  readonly layer: CacheLayer;
}

/** Labels of a call that joined a flight. */
export interface CoalescedMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** Name of what is computed. */
  readonly useCase: string;
  /** What kind of id the key holds. */
  readonly keyType: string;
  /** Whose flight it was. */
  readonly scope: CoalescingScope;
}

/** Labels of a shadow comparison. */
export interface ShadowValidationMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** Name of what is computed. */
  readonly useCase: string;
  /** What kind of id the key holds. */
  readonly keyType: string;
  /** How it ended. */
  readonly outcome: ShadowValidationOutcome;
}

/** Labels of a hedged read. */
export interface ReadHedgeMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** Name of what is computed. */
  readonly useCase: string;
  /** What kind of id the key holds. */
  readonly keyType: string;
  /**
   * `hit`: the read won after all. `outrun`: the source did, and the read is neither a hit nor a miss nor an error.
   * `source_error`: the source failed while the read was pending. `denied`: the budget let no source start.
   */
  readonly outcome: ReadHedgeOutcome;
}

/** Labels of what happened to a hedge of a source. */
export interface HedgeMetricLabels {
  /** Name of the source. */
  readonly source: string;
  /** What happened. */
  readonly event: HedgeEvent;
}

/** Labels of an attempt of a source that ended. */
export interface SourceAttemptMetricLabels {
  /** Name of the source. */
  readonly source: string;
  /** Why it had been started. */
  readonly kind: AttemptKind;
  /** How it ended. */
  readonly outcome: AttemptOutcome;
}

/**
 * Receives each event as it happens. Durations are in seconds, sizes in bytes. A hook that throws or rejects is ignored;
 * optional ones may be left out.
 */
export interface DialCacheMetricsAdapter {
  /** A lookup in an enabled layer. */
  request(labels: CacheMetricLabels): void;
  /** A lookup that found nothing usable. */
  miss(labels: CacheMetricLabels): void;
  /** A layer, or a whole call, that was skipped. */
  disabled(labels: DisabledMetricLabels): void;
  /** A failure of the cache or of the source. */
  error(labels: ErrorMetricLabels): void;
  /** A call of `invalidateRemote()`. */
  invalidation(labels: InvalidationMetricLabels): void;
  /** Time of a lookup: in Redis always, in the in-process layers with `localTimings: true`. */
  observeGet(labels: CacheMetricLabels, seconds: number): void;
  /** Time of the source, up to its result or its deadline. */
  observeFallback(labels: CacheMetricLabels, seconds: number): void;
  /** Time of a serializer's `dump` or `load`. */
  observeSerialization(labels: SerializationMetricLabels, seconds: number): void;
  /** Size of a serialized payload, before compression. */
  observeSize(labels: CacheMetricLabels, bytes: number): void;
  /** A follower that joined a flight. */
  coalesced?(labels: CoalescedMetricLabels): void;
  /** A read that was hedged, or that the budget did not let be. */
  readHedge?(labels: ReadHedgeMetricLabels): void;
  /** A shadow validation that ended, or that there was no room for. */
  shadowValidation?(labels: ShadowValidationMetricLabels): void;
  /** Age of the compared Redis value, for a match or a mismatch, when the client tells when it was written. */
  observeShadowValueAge?(labels: ShadowValidationMetricLabels, seconds: number): void;
  /** A payload that passed the compressor: each one written unless compression is off, and each one read that was compressed. */
  compression?(labels: CompressionMetricLabels): void;
  /** Time of a compression, whether or not it was worth it, or of a decompression, on the thread that did it. */
  observeCompression?(labels: CompressionOperationMetricLabels, seconds: number): void;
  /** Size of a payload as it is written, compressed or not, without the frame's ten bytes. */
  observeStoredSize?(labels: CacheMetricLabels, bytes: number): void;
  /** Stored size divided by serialized size, of payloads that are stored compressed. */
  observeCompressionRatio?(labels: CacheMetricLabels, ratio: number): void;
  /** Something happened to a hedge of a source. */
  hedge?(labels: HedgeMetricLabels): void;
  /** An attempt of a source ended. */
  sourceAttempt?(labels: SourceAttemptMetricLabels): void;
}

/** Every hook an adapter may have: required ones first. */
export const METRIC_HOOKS = [
  "request",
  "miss",
  "disabled",
  "error",
  "invalidation",
  "observeGet",
  "observeFallback",
  "observeSerialization",
  "observeSize",
  "coalesced",
  "readHedge",
  "shadowValidation",
  "observeShadowValueAge",
  "compression",
  "observeCompression",
  "observeStoredSize",
  "observeCompressionRatio",
  "hedge",
  "sourceAttempt",
] as const satisfies readonly (keyof DialCacheMetricsAdapter)[];

/** An adapter with every hook present, none of which throws or rejects. */
export type GuardedMetrics = Required<DialCacheMetricsAdapter>;

/** Wraps `adapter` so that no failure of it reaches the caller; a hook it does not have does nothing. */
export function guardMetrics(adapter: DialCacheMetricsAdapter): GuardedMetrics {
  const guarded: Partial<Record<keyof GuardedMetrics, (...args: unknown[]) => void>> = {};
  for (const hook of METRIC_HOOKS) guarded[hook] = (...args) => callGuarded(adapter, hook, args);
  return guarded as GuardedMetrics;
}
