import type { CompressionOutcome, DialCacheMetricsAdapter, MetricErrorKind, ShadowValidationOutcome } from "./metrics";

/** Hooks of a metrics adapter that count; the others observe a number. */
export type CountingHook =
  | "request"
  | "miss"
  | "disabled"
  | "error"
  | "invalidation"
  | "coalesced"
  | "readHedge"
  | "shadowValidation"
  | "compression"
  | "hedge"
  | "sourceAttempt";

/** Labels of one counting hook. */
export type LabelsOf<Hook extends CountingHook> = Parameters<Required<DialCacheMetricsAdapter>[Hook]>[0];

/** How often one event happened. The same object each time it is read. */
export interface Count {
  readonly hook: CountingHook;
  readonly labels: LabelsOf<CountingHook>;
  total: number;
}

/** What only JavaScript knows of one use case: what happens above or beside the native engine. */
export class Tally {
  requestLocalRequests = 0;
  requestLocalHits = 0;
  requestLocalMisses = 0;
  requestLocalCoalesced = 0;
  /** Calls outside any enabled scope. */
  contextDisabled = 0;
  /** Calls whose config provider failed. */
  configErrors = 0;
  readonly #rare = new RareCounts();

  /** Counts an event that is rare enough to look its labels up. */
  add<Hook extends CountingHook>(hook: Hook, labels: LabelsOf<Hook>): Count {
    return this.#rare.add(hook, labels);
  }

  /** What {@link Tally.add} counted. */
  get rare(): Iterable<Count> {
    return this.#rare.all();
  }

  /** Failures by kind. */
  errors(): Partial<Record<MetricErrorKind, number>> {
    const errors: Partial<Record<MetricErrorKind, number>> = {};
    for (const { hook, labels, total } of this.rare) {
      if (hook !== "error") continue;
      const { error } = labels as LabelsOf<"error">;
      errors[error] = (errors[error] ?? 0) + total;
    }
    return errors;
  }

  /** Shadow validations by outcome. */
  shadows(): Partial<Record<ShadowValidationOutcome, number>> {
    const outcomes: Partial<Record<ShadowValidationOutcome, number>> = {};
    for (const { hook, labels, total } of this.rare) {
      if (hook === "shadowValidation") outcomes[(labels as LabelsOf<"shadowValidation">).outcome] = total;
    }
    return outcomes;
  }

  /** Payloads by what became of them in the compressor, as far as no engine counted them. */
  compressions(): Partial<Record<CompressionOutcome, number>> {
    const compressions: Partial<Record<CompressionOutcome, number>> = {};
    for (const { hook, labels, total } of this.rare) {
      if (hook !== "compression") continue;
      const { outcome } = labels as LabelsOf<"compression">;
      compressions[outcome] = (compressions[outcome] ?? 0) + total;
    }
    return compressions;
  }
}

/** Counts by labels. */
export class RareCounts {
  readonly #counts = new Map<string, Count>();

  /** Counts once more, and answers what it counted on: for those who come so often that they keep it. */
  add<Hook extends CountingHook>(hook: Hook, labels: LabelsOf<Hook>): Count {
    const key = JSON.stringify([hook, labels]);
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { hook, labels, total: 0 };
      this.#counts.set(key, count);
    }
    count.total += 1;
    return count;
  }

  all(): Iterable<Count> {
    return this.#counts.values();
  }
}
