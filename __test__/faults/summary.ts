import { describePlan, type RoundPlan } from "./plan";
import type { RoundReport } from "./round";

/** What callers may wait beyond read deadline and source, at the 99.9th percentile. */
const ALLOWANCE_MS = 20;

/** What all rounds came to. */
export class Summary {
  rounds = 0;
  failed = 0;
  calls = 0;
  hits = 0;
  failedReads = 0;
  sourceRuns = 0;
  invalidations = 0;
  failedInvalidations = 0;
  worstLoopMs = 0;
  readonly #failures: string[] = [];
  readonly #recovery: number[] = [];
  readonly #over: number[] = [];
  readonly #ownOver: number[] = [];
  readonly #kinds = new Map<string, number>();

  add(plan: RoundPlan, report: RoundReport): void {
    this.rounds += 1;
    this.calls += report.calls;
    this.hits += report.hits;
    this.failedReads += report.failedReads;
    this.sourceRuns += report.sourceRuns;
    this.invalidations += report.invalidations.done;
    this.failedInvalidations += report.invalidations.failed;
    this.worstLoopMs = Math.max(this.worstLoopMs, report.loopWorstMs);
    this.#recovery.push(report.recoveryMs);
    for (const over of report.over) this.#over.push(over);
    for (const over of report.ownOver) this.#ownOver.push(over);
    for (const name of [plan.topology, ...plan.clients, ...plan.faults.map(({ action }) => action.kind)]) {
      this.#kinds.set(name, (this.#kinds.get(name) ?? 0) + 1);
    }
    if (report.complaints.length === 0) return;
    this.failed += 1;
    this.#failures.push(`round ${report.round} (seed ${report.seed}): ${report.complaints.join("; ")}`);
  }

  /** What of the call times is not as it must be. */
  lateness(): string[] {
    const own = quantile(this.#ownOver, 0.999);
    return own <= ALLOWANCE_MS ? [] : [`p99.9 of call times is ${own.toFixed(1)} ms beyond read deadline and source`];
  }

  toJSON(): object {
    const { rounds, failed, calls, hits, failedReads, sourceRuns, invalidations, failedInvalidations } = this;
    return {
      summary: { rounds, failed, calls, hits, failedReads, sourceRuns, invalidations, failedInvalidations },
      overMs: this.#quantiles(this.#over),
      ownOverMs: this.#quantiles(this.#ownOver),
      recoveryMs: this.#quantiles(this.#recovery),
      worstLoopMs: this.worstLoopMs,
      kinds: Object.fromEntries(this.#kinds),
      failures: this.#failures,
    };
  }

  text(): string {
    const show = (values: readonly number[]) =>
      Object.entries(this.#quantiles(values))
        .map(([name, value]) => `${name} ${value}`)
        .join(", ");
    const lines = [
      `${this.rounds} rounds, ${this.failed} failed`,
      `${this.calls} calls, ${this.hits} hits, ${this.failedReads} failed reads, ${this.sourceRuns} source runs`,
      `${this.invalidations} invalidations, ${this.failedInvalidations} more that failed and said so`,
      `call time beyond read deadline and source, ms: ${show(this.#over)}`,
      `  without what the event loop was held up: ${show(this.#ownOver)} (the loop's worst: ${this.worstLoopMs.toFixed(0)})`,
      `hits back after, ms: ${show(this.#recovery)}`,
      [...this.#kinds].map(([name, count]) => `${name} ${count}`).join(", "),
      ...this.#failures,
    ];
    return lines.join("\n");
  }

  #quantiles(values: readonly number[]): Record<string, number> {
    const rounded = (value: number) => Math.round(value * 10) / 10;
    return {
      p50: rounded(quantile(values, 0.5)),
      p99: rounded(quantile(values, 0.99)),
      "p99.9": rounded(quantile(values, 0.999)),
      max: rounded(quantile(values, 1)),
    };
  }

  /** A round's figures, as they are written for another program. */
  static figures(plan: RoundPlan, { over, ownOver, ...report }: RoundReport): object {
    const late = (values: readonly number[]) => values.filter((value) => value > ALLOWANCE_MS).length;
    const calls = {
      late: late(over),
      ownLate: late(ownOver),
      p999: quantile(over, 0.999),
      ownP999: quantile(ownOver, 0.999),
    };
    return { ...report, what: describePlan(plan), ...calls };
  }
}

/** The smallest value that at least that part of them does not exceed; NaN of none. */
function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}
