import type { Logger } from "./logger";
import type {
  CoalescingScope,
  CompressionOutcome,
  DisabledReason,
  MetricErrorKind,
  MetricLayer,
  ReadHedgeOutcome,
  ShadowValidationOutcome,
} from "./metrics";
import {
  LAYER_ABSENT,
  LAYER_HIT,
  LAYER_INVALID_RAMP,
  LAYER_INVALID_TTL,
  LAYER_POLICY_DISABLED,
  LAYER_RAMPED_DOWN,
  TRACE_BITS,
} from "./native";
import type { Observers, Span, SpanKind } from "./observers";
import { compressorFailed, compressorRan, OUTCOMES, type Passage } from "./passage";
import type { Count, Tally } from "./tally";

const MS_PER_SECOND = 1_000;

type RedisLayer = "remote" | "remote_shadow";

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

/** Tells one use case's events to metrics adapter and logger, and counts those that only JavaScript knows. */
export class Recorder {
  readonly tally: Tally;
  readonly #names: Names;
  readonly #quotedUseCase: string;
  readonly #observers: Observers;
  readonly #logger: Logger;
  readonly #lookupClock: (() => number) | undefined;
  readonly #errors: { layer: MetricLayer; error: MetricErrorKind; inFallback: boolean; count: Count }[] = [];

  /** @param lookupClock - Milliseconds, for timing lookups in the in-process layers; undefined when nobody asked. */
  constructor(
    names: Names,
    tally: Tally,
    observers: Observers,
    logger: Logger,
    lookupClock: (() => number) | undefined,
  ) {
    this.tally = tally;
    this.#names = names;
    this.#quotedUseCase = JSON.stringify(names.useCase);
    this.#observers = observers;
    this.#lookupClock = observers.observations === undefined ? undefined : lookupClock;
    this.#logger = logger;
  }

  /** Whether anyone wants durations, so that times need to be taken. */
  get observed(): boolean {
    return this.#observers.observations !== undefined;
  }

  /** Whether anyone wants to be told of local hits. */
  get hitsObserved(): boolean {
    return this.#observers.events !== undefined || this.#lookupClock !== undefined;
  }

  /** A failure nobody but the log hears of. */
  warn(message: string, error: unknown): void {
    this.#logger.warn(`DialCache: ${message} (use case ${this.#quotedUseCase})`, error);
  }

  error(layer: MetricLayer, error: MetricErrorKind, inFallback = false): void {
    this.#countError(layer, error, inFallback);
    this.#observers.events?.error({ ...this.#names, layer, error, inFallback });
  }

  /** Errors are rare until Redis is down: then there is one a call, and looking its labels up costs more than the call. */
  #countError(layer: MetricLayer, error: MetricErrorKind, inFallback: boolean): void {
    const counted = this.#errors.find((known) => {
      return known.error === error && known.layer === layer && known.inFallback === inFallback;
    });
    if (counted !== undefined) {
      counted.count.total += 1;
      return;
    }
    const count = this.tally.add("error", { ...this.#names, layer, error, inFallback });
    this.#errors.push({ layer, error, inFallback, count });
  }

  /** A call outside any enabled scope. */
  outOfContext(): void {
    this.tally.contextDisabled += 1;
    this.#disabled("noop", "context");
  }

  /** A call whose config provider failed. */
  configFailed(): void {
    this.tally.configErrors += 1;
    this.error("noop", "config_resolution");
    this.#disabled("noop", "config_error");
  }

  #disabled(layer: MetricLayer, reason: DisabledReason): void {
    this.#observers.events?.disabled({ ...this.#names, layer, reason });
  }

  request(layer: MetricLayer): void {
    this.#observers.events?.request({ ...this.#names, layer });
  }

  miss(layer: MetricLayer): void {
    this.#observers.events?.miss({ ...this.#names, layer });
  }

  got(layer: MetricLayer, seconds: number): void {
    this.#observers.observations?.observeGet({ ...this.#names, layer }, seconds);
  }

  /** A span of a leader's work, to be run and ended; undefined when nobody traces. */
  span(kind: SpanKind): Span | undefined {
    return this.#observers.tracing?.span(kind, this.#names);
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
    this.#observers.observations?.observeFallback({ ...this.#names, layer }, seconds);
  }

  serialized(operation: "dump" | "load", seconds: number, layer: RedisLayer = "remote"): void {
    this.#observers.observations?.observeSerialization({ ...this.#names, layer, operation }, seconds);
  }

  size(bytes: number, layer: RedisLayer = "remote"): void {
    this.#observers.observations?.observeSize({ ...this.#names, layer }, bytes);
  }

  /**
   * A payload was put into its envelope, on its way to Redis.
   * @param plainBytes - What the serializer made; looked at only when somebody listens.
   */
  sealed(passage: Passage, plainBytes: number, layer: RedisLayer = "remote"): void {
    const outcome = OUTCOMES[passage.outcome];
    if (compressorFailed(passage)) {
      this.error(layer, "compression");
      this.warn("a payload could not be compressed, it is written as it is", new Error("zstd had not enough memory"));
    }
    if (outcome !== undefined) this.#compression(outcome, layer);
    const { observations } = this.#observers;
    if (observations === undefined) return;
    const { seconds, sealedBytes = plainBytes } = passage;
    const labels = { ...this.#names, layer };
    if (compressorRan(passage)) observations.observeCompression({ ...labels, operation: "compress" }, seconds);
    if (outcome === "compressed") observations.observeCompressionRatio(labels, sealedBytes / plainBytes);
    observations.observeStoredSize(labels, sealedBytes);
  }

  /** A payload from Redis was taken out of its envelope. */
  opened(passage: Passage, layer: RedisLayer = "remote"): void {
    const outcome = OUTCOMES[passage.outcome];
    if (outcome === undefined) return;
    this.#compression(outcome, layer);
    const labels = { ...this.#names, layer, operation: "decompress" } as const;
    this.#observers.observations?.observeCompression(labels, passage.seconds);
  }

  /** Those of layer `remote` are counted by the engine. */
  #compression(outcome: CompressionOutcome, layer: RedisLayer): void {
    if (layer !== "remote") this.tally.add("compression", { ...this.#names, layer, outcome });
    this.#observers.events?.compression({ ...this.#names, layer, outcome });
  }

  /** A shadow comparison ended. `ageSeconds` of the compared value, for a match or a mismatch. */
  shadowed(outcome: ShadowValidationOutcome, ageSeconds?: number): void {
    const labels = { ...this.#names, outcome };
    this.tally.add("shadowValidation", labels);
    this.#observers.events?.shadowValidation(labels);
    if (ageSeconds !== undefined) this.#observers.observations?.observeShadowValueAge(labels, ageSeconds);
  }

  /** A mismatch was confirmed, and its values may be logged. */
  mismatched(details: { cacheKey: string; cached: string | null; source: string | null }): void {
    const message = `DialCache: Redis holds another value than the source gives (use case ${this.#quotedUseCase})`;
    this.#logger.warn(message, { ...this.#names, ...details });
  }

  /** A read was hedged, or could not be. The engine has counted it. */
  readHedged(outcome: ReadHedgeOutcome): void {
    this.#observers.events?.readHedge({ ...this.#names, outcome });
  }

  coalesced(scope: CoalescingScope): void {
    if (scope === "request_local") this.tally.requestLocalCoalesced += 1;
    this.#observers.events?.coalesced({ ...this.#names, scope });
  }

  /** What the engine's latest lookup did at each layer. The engine has counted it. */
  traced(trace: number): void {
    if (this.#observers.events === undefined) return;
    const mask = (1 << TRACE_BITS) - 1;
    this.#layer("local", trace & mask);
    this.#layer("remote", (trace >> TRACE_BITS) & mask);
  }

  #layer(layer: "local" | "remote", what: number): void {
    if (what === LAYER_ABSENT) return;
    const reason = REASONS[what];
    if (reason !== undefined) {
      this.#disabled(layer, reason);
      if (reason === "invalid_ttl" || reason === "invalid_ramp") {
        this.#observers.events?.error({ ...this.#names, layer, error: "config_resolution", inFallback: false });
      }
      return;
    }
    this.request(layer);
    // A remote miss is known only after the read.
    if (layer === "local" && what !== LAYER_HIT) this.miss(layer);
  }
}
