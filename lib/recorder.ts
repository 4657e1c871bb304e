import type { Logger } from "./logger";
import type { CoalescingScope, DisabledReason, GuardedMetrics, MetricErrorKind, MetricLayer } from "./metrics";
import {
  LAYER_ABSENT,
  LAYER_HIT,
  LAYER_INVALID_RAMP,
  LAYER_INVALID_TTL,
  LAYER_POLICY_DISABLED,
  LAYER_RAMPED_DOWN,
  TRACE_BITS,
} from "./native";

const MS_PER_SECOND = 1_000;

interface Names {
  readonly cacheNamespace: string;
  readonly useCase: string;
  readonly keyType: string;
}

const REASONS: Readonly<Record<number, DisabledReason>> = {
  [LAYER_POLICY_DISABLED]: "policy_disabled",
  [LAYER_INVALID_TTL]: "invalid_ttl",
  [LAYER_INVALID_RAMP]: "invalid_ramp",
  [LAYER_RAMPED_DOWN]: "ramped_down",
};

/** What the native counters do not see, because it happens in JavaScript. */
export interface LocalCounts {
  requestLocalRequests: number;
  requestLocalHits: number;
  requestLocalMisses: number;
  requestLocalCoalesced: number;
  readonly errors: Map<MetricErrorKind, number>;
}

/** Tells one use case's events to metrics adapter and logger, and counts those that only JavaScript knows. */
export class Recorder {
  readonly counts: LocalCounts = {
    requestLocalRequests: 0,
    requestLocalHits: 0,
    requestLocalMisses: 0,
    requestLocalCoalesced: 0,
    errors: new Map(),
  };
  readonly #names: Names;
  readonly #quotedUseCase: string;
  readonly #metrics: GuardedMetrics | undefined;
  readonly #logger: Logger;
  readonly #lookupClock: (() => number) | undefined;

  /** @param lookupClock - Milliseconds, for timing lookups in the in-process layers; undefined when nobody asked. */
  constructor(
    names: Names,
    metrics: GuardedMetrics | undefined,
    logger: Logger,
    lookupClock: (() => number) | undefined,
  ) {
    this.#names = names;
    this.#quotedUseCase = JSON.stringify(names.useCase);
    this.#lookupClock = metrics === undefined ? undefined : lookupClock;
    this.#metrics = metrics;
    this.#logger = logger;
  }

  /** Whether anyone wants each event, so that their times need to be taken. */
  get observed(): boolean {
    return this.#metrics !== undefined;
  }

  /** A failure nobody but the log hears of. */
  warn(message: string, error: unknown): void {
    this.#logger.warn(`DialCache: ${message} (use case ${this.#quotedUseCase})`, error);
  }

  error(layer: MetricLayer, error: MetricErrorKind, inFallback = false): void {
    this.counts.errors.set(error, (this.counts.errors.get(error) ?? 0) + 1);
    this.#metrics?.error({ ...this.#names, layer, error, inFallback });
  }

  disabled(layer: MetricLayer, reason: DisabledReason): void {
    this.#metrics?.disabled({ ...this.#names, layer, reason });
  }

  request(layer: MetricLayer): void {
    this.#metrics?.request({ ...this.#names, layer });
  }

  miss(layer: MetricLayer): void {
    this.#metrics?.miss({ ...this.#names, layer });
  }

  got(layer: MetricLayer, seconds: number): void {
    this.#metrics?.observeGet({ ...this.#names, layer }, seconds);
  }

  /** When a lookup in an in-process layer began, if its time is wanted. */
  lookupBegun(): number | undefined {
    return this.#lookupClock?.();
  }

  /** A lookup in an in-process layer is over. */
  lookedUp(layer: "local" | "request_local", since: number | undefined): void {
    if (since === undefined || this.#lookupClock === undefined) return;
    this.got(layer, (this.#lookupClock() - since) / MS_PER_SECOND);
  }

  fellBack(layer: MetricLayer, seconds: number): void {
    this.#metrics?.observeFallback({ ...this.#names, layer }, seconds);
  }

  serialized(operation: "dump" | "load", seconds: number): void {
    this.#metrics?.observeSerialization({ ...this.#names, layer: "remote", operation }, seconds);
  }

  size(bytes: number): void {
    this.#metrics?.observeSize({ ...this.#names, layer: "remote" }, bytes);
  }

  coalesced(scope: CoalescingScope): void {
    if (scope === "request_local") this.counts.requestLocalCoalesced += 1;
    this.#metrics?.coalesced({ ...this.#names, scope });
  }

  /** What the engine's latest lookup did at each layer. */
  traced(trace: number): void {
    const mask = (1 << TRACE_BITS) - 1;
    this.#layer("local", trace & mask);
    this.#layer("remote", (trace >> TRACE_BITS) & mask);
  }

  #layer(layer: "local" | "remote", what: number): void {
    if (what === LAYER_ABSENT) return;
    const reason = REASONS[what];
    if (reason !== undefined) {
      this.disabled(layer, reason);
      if (reason === "invalid_ttl" || reason === "invalid_ramp") this.error(layer, "config_resolution");
      return;
    }
    this.request(layer);
    // A remote miss is known only after the read.
    if (layer === "local" && what !== LAYER_HIT) this.miss(layer);
  }
}
