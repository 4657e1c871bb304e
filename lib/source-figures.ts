import type { Countable, Reading } from "./figures";
import type { NativeSource } from "./native";
import { SOURCE_COUNTERS } from "./native";
import type { AttemptKind, AttemptOutcome, BreakerState, HedgeEvent } from "./source-types";
import type { Count } from "./tally";

const MS_PER_SECOND = 1_000;

/** States of a breaker as numbers: the more, the less gets through. */
const STATES: Readonly<Record<BreakerState, number>> = { closed: 0, half_open: 1, open: 2 };

/** What one source counts. Holds its counters only: whoever reads them keeps neither its functions nor its calls alive. */
export class SourceFigures implements Countable {
  readonly #name: string;
  readonly #native: NativeSource;
  readonly #hedges: boolean;
  /** Counts by their places among the native counters. */
  readonly #counts: (Count | undefined)[];
  /** How much of each count {@link SourceFigures.grown} has told. */
  readonly #told: number[];

  constructor(name: string, native: NativeSource, hedges: boolean) {
    this.#name = name;
    this.#native = native;
    this.#hedges = hedges;
    this.#counts = SOURCE_COUNTERS.map((names) => this.#count(names));
    this.#told = SOURCE_COUNTERS.map(() => 0);
  }

  each(visit: (count: Count) => void): void {
    const numbers = this.#native.counters();
    for (const [place, count] of this.#counts.entries()) {
      const total = numbers[place] as number;
      if (count === undefined || total === 0) continue;
      count.total = total;
      visit(count);
    }
  }

  /** Calls `visit` once for each event since the last time. */
  grown(visit: (count: Count) => void): void {
    const numbers = this.#native.counters();
    for (const [place, count] of this.#counts.entries()) {
      if (count === undefined) continue;
      const total = numbers[place] as number;
      // Noted before anyone is told: an observer may call the source.
      const since = this.#told[place] as number;
      this.#told[place] = total;
      for (let event = since; event < total; event += 1) visit(count);
    }
  }

  gauges(visit: (reading: Reading) => void): void {
    const source = this.#name;
    const { hedgeDelayMs, tokens, breakers } = this.#native.gauges();
    if (hedgeDelayMs !== undefined && hedgeDelayMs !== null) {
      visit({ gauge: "hedgeDelay", labels: { source }, value: hedgeDelayMs / MS_PER_SECOND });
    }
    if (this.#hedges) visit({ gauge: "hedgeTokens", labels: { source }, value: tokens });
    for (const [endpoint, state] of breakers.entries()) {
      visit({ gauge: "breakerState", labels: { source, endpoint }, value: STATES[state as BreakerState] });
    }
  }

  #count([group, first, second]: readonly string[]): Count | undefined {
    const source = this.#name;
    if (group === "hedge") return { hook: "hedge", labels: { source, event: first as HedgeEvent }, total: 0 };
    if (group !== "attempt") return undefined;
    const labels = { source, kind: first as AttemptKind, outcome: second as AttemptOutcome };
    return { hook: "sourceAttempt", labels, total: 0 };
  }
}
