import type { CompressionOutcome, DisabledReason, MetricLayer, ReadHedgeOutcome } from "./metrics";
import { COUNTER_COLUMNS, type CounterReader } from "./native";
import { type Count, type CountingHook, type LabelsOf, RareCounts, Tally } from "./tally";

/** Names of the native counters. */
export type Column =
  | "localRequests"
  | "localHits"
  | "localMisses"
  | "localPolicyDisabled"
  | "localInvalidTtl"
  | "localInvalidRamp"
  | "localRampedDown"
  | "remoteRequests"
  | "remoteHits"
  | "remoteMisses"
  | "remotePolicyDisabled"
  | "remoteInvalidTtl"
  | "remoteInvalidRamp"
  | "remoteRampedDown"
  | "readDeadlinesArmed"
  | "readTimeouts"
  | "readFailures"
  | "loadFailures"
  | "dumpFailures"
  | "readHedgeHits"
  | "readHedgeOutruns"
  | "readHedgeSourceErrors"
  | "readHedgeDenials"
  | "coalesced"
  | "sourceCalls"
  | "sourceFailures"
  | "sourceTimeouts"
  | "writesOk"
  | "writesFenced"
  | "writesFailed"
  | "writesSkipped"
  | "compressed"
  | "belowThreshold"
  | "notSmaller"
  | "writeOverLimit"
  | "decompressed"
  | "fallbackRaw"
  | "readOverLimit";

const PLACES = new Map(COUNTER_COLUMNS.map((name, place) => [name, place]));

/** Labels beside those that name the use case. */
interface Extra {
  readonly layer?: MetricLayer;
  readonly reason?: DisabledReason;
  readonly error?: "config_resolution";
  readonly inFallback?: false;
  readonly scope?: "process" | "request_local";
  readonly outcome?: ReadHedgeOutcome | CompressionOutcome;
}

/** What counts the payloads of the Redis layer natively, by what became of them. */
export const COMPRESSION_COLUMNS: Readonly<Record<CompressionOutcome, Column>> = {
  compressed: "compressed",
  below_threshold: "belowThreshold",
  not_smaller: "notSmaller",
  write_over_limit: "writeOverLimit",
  decompressed: "decompressed",
  fallback_raw: "fallbackRaw",
  read_over_limit: "readOverLimit",
};

/** One event that is counted without being told, and where its count stands. */
interface Row {
  readonly hook: CountingHook;
  readonly extra: Extra;
  read(useCase: UseCaseFigures): number;
}

function counted(hook: CountingHook, extra: Extra, ...columns: Column[]): Row {
  // Looked up once: a scrape reads thousands.
  const places = columns.map((column) => PLACES.get(column) as number);
  return { hook, extra, read: (useCase) => places.reduce((sum, place) => sum + useCase.at(place), 0) };
}

function tallied(hook: CountingHook, extra: Extra, read: (tally: Tally) => number): Row {
  return { hook, extra, read: ({ tally }) => read(tally) };
}

const ROWS: readonly Row[] = [
  tallied("request", { layer: "request_local" }, (tally) => tally.requestLocalRequests),
  tallied("miss", { layer: "request_local" }, (tally) => tally.requestLocalMisses),
  tallied("coalesced", { scope: "request_local" }, (tally) => tally.requestLocalCoalesced),
  tallied("disabled", { layer: "noop", reason: "context" }, (tally) => tally.contextDisabled),
  tallied("disabled", { layer: "noop", reason: "config_error" }, (tally) => tally.configErrors),
  counted("coalesced", { scope: "process" }, "coalesced"),
  counted("readHedge", { outcome: "hit" }, "readHedgeHits"),
  counted("readHedge", { outcome: "outrun" }, "readHedgeOutruns"),
  counted("readHedge", { outcome: "source_error" }, "readHedgeSourceErrors"),
  counted("readHedge", { outcome: "denied" }, "readHedgeDenials"),
  ...(["local", "remote"] as const).flatMap((layer) => [
    counted("request", { layer }, `${layer}Requests`),
    counted("miss", { layer }, `${layer}Misses`),
    counted("disabled", { layer, reason: "policy_disabled" }, `${layer}PolicyDisabled`),
    counted("disabled", { layer, reason: "invalid_ttl" }, `${layer}InvalidTtl`),
    counted("disabled", { layer, reason: "invalid_ramp" }, `${layer}InvalidRamp`),
    counted("disabled", { layer, reason: "ramped_down" }, `${layer}RampedDown`),
    // An invalid leaf turns its layer off, and is an error of the configuration too.
    counted(
      "error",
      { layer, error: "config_resolution", inFallback: false },
      `${layer}InvalidTtl`,
      `${layer}InvalidRamp`,
    ),
  ]),
  ...(Object.keys(COMPRESSION_COLUMNS) as CompressionOutcome[]).map((outcome) =>
    counted("compression", { layer: "remote", outcome }, COMPRESSION_COLUMNS[outcome]),
  ),
];

/** A number that goes up and down, of one source. */
export interface Reading {
  readonly gauge: GaugeName;
  readonly labels: { readonly source: string; readonly endpoint?: number };
  readonly value: number;
}

/** Names of what goes up and down. */
export type GaugeName = "hedgeDelay" | "hedgeTokens" | "breakerState";

/** What a metrics backend reads. */
export interface Countable {
  /** Calls `visit` with everything that ever happened. Each count is the same object every time. */
  each(visit: (count: Count) => void): void;
  /** Calls `visit` with what goes up and down. */
  gauges?(visit: (reading: Reading) => void): void;
}

/** What is counted of one use case, natively and here. */
export class UseCaseFigures {
  readonly keyType: string;
  readonly useCase: string;
  readonly tally: Tally;
  readonly #numbers: () => Float64Array;
  readonly #offset: number;
  readonly #counts: (Count | undefined)[] = [];

  constructor(keyType: string, useCase: string, tally: Tally, numbers: () => Float64Array, offset: number) {
    this.keyType = keyType;
    this.useCase = useCase;
    this.tally = tally;
    this.#numbers = numbers;
    this.#offset = offset;
  }

  /** A native counter, as it was when the figures were read last. */
  native(column: Column): number {
    return this.at(PLACES.get(column) as number);
  }

  /** The same by the counter's place among the columns. */
  at(place: number): number {
    return this.#numbers()[this.#offset + place] as number;
  }

  /** Calls `visit` with everything that ever happened. */
  each(cacheNamespace: string, visit: (count: Count) => void): void {
    for (const [at, row] of ROWS.entries()) {
      const total = row.read(this);
      if (total === 0) continue;
      const count = this.#counts[at] ?? this.#count(cacheNamespace, at, row);
      count.total = total;
      visit(count);
    }
    for (const count of this.tally.rare) visit(count);
  }

  #count(cacheNamespace: string, at: number, { hook, extra }: Row): Count {
    const labels = { cacheNamespace, useCase: this.useCase, keyType: this.keyType, ...extra } as LabelsOf<CountingHook>;
    const count = { hook, labels, total: 0 };
    this.#counts[at] = count;
    return count;
  }
}

/**
 * Everything counted by one instance. Holds counters only: whoever reads them keeps neither the instance nor anything in
 * its cache alive, and can still read them when it is gone.
 */
export class Figures implements Countable {
  readonly namespace: string;
  readonly #reader: CounterReader;
  readonly #tallies = new Map<string, Tally>();
  readonly #useCases: UseCaseFigures[] = [];
  readonly #invalidations = new RareCounts();
  #numbers: Float64Array = new Float64Array(0);

  constructor(namespace: string, reader: CounterReader) {
    this.namespace = namespace;
    this.#reader = reader;
  }

  /** What JavaScript counts of a use case. */
  tally(keyType: string, useCase: string): Tally {
    const name = JSON.stringify([keyType, useCase]);
    const known = this.#tallies.get(name);
    if (known !== undefined) return known;
    const tally = new Tally();
    this.#tallies.set(name, tally);
    return tally;
  }

  /** `invalidateRemote()` was called for an id of this type. */
  invalidated(keyType: string): void {
    this.#invalidations.add("invalidation", { cacheNamespace: this.namespace, keyType, layer: "remote" });
  }

  /** The watermark of an id of this type could not be written. */
  invalidationFailed(keyType: string): void {
    this.#invalidations.add("error", invalidationError(this.namespace, keyType));
  }

  /** How often which key type was invalidated, and in vain. */
  invalidations(): Record<string, { calls: number; failed: number }> {
    const counts: Record<string, { calls: number; failed: number }> = Object.create(null);
    for (const { hook, labels, total } of this.#invalidations.all()) {
      const { keyType } = labels as LabelsOf<"invalidation" | "error">;
      counts[keyType] ??= { calls: 0, failed: 0 };
      counts[keyType][hook === "error" ? "failed" : "calls"] += total;
    }
    return counts;
  }

  /** The use cases, in the order they were first named, with their counters of this moment. */
  useCases(): readonly UseCaseFigures[] {
    this.#numbers = this.#reader.read();
    const known = this.#useCases.length;
    if (known * COUNTER_COLUMNS.length === this.#numbers.length) return this.#useCases;
    const names = this.#reader.names(known);
    for (let at = 0; at < names.length; at += 2) {
      const [keyType, useCase] = names.slice(at, at + 2) as [string, string];
      const offset = this.#useCases.length * COUNTER_COLUMNS.length;
      const tally = this.tally(keyType, useCase);
      this.#useCases.push(new UseCaseFigures(keyType, useCase, tally, () => this.#numbers, offset));
    }
    return this.#useCases;
  }

  /** Calls `visit` with everything that ever happened. Each count is the same object every time. */
  each(visit: (count: Count) => void): void {
    for (const useCase of this.useCases()) useCase.each(this.namespace, visit);
    for (const count of this.#invalidations.all()) visit(count);
  }
}

/** Labels of a watermark that could not be written. No use case is concerned; the name is reserved for this. */
export function invalidationError(cacheNamespace: string, keyType: string): LabelsOf<"error"> {
  return { cacheNamespace, useCase: "watermark", keyType, layer: "remote", error: "invalidation", inFallback: false };
}
