import { SOURCE_COUNTERS } from "./native";
import { ATTEMPT_KINDS } from "./source-attempt";
import type { SourceCore } from "./source-core";
import type { AttemptKind, AttemptOutcome, BreakerState, HedgeEvent } from "./source-types";

/** Ways an attempt ends. */
export const ATTEMPT_OUTCOMES: readonly AttemptOutcome[] = ["ok", "error", "timeout", "cancelled"];
/** What happens to hedges. */
export const HEDGE_EVENTS: readonly HedgeEvent[] = [
  "started",
  "won",
  "lost",
  "failed",
  "denied_budget",
  "denied_gate",
  "denied_breaker",
  "denied_deadline",
];

/** What `stats()` of a source returns: a detached snapshot. */
export interface SourceStats {
  /** Hedges by what happened to them. */
  readonly hedges: Readonly<Record<HedgeEvent, number>>;
  /** Attempts that ended, by what had started them and how they ended. */
  readonly attempts: Readonly<Record<AttemptKind, Readonly<Record<AttemptOutcome, number>>>>;
  /** Attempts started, by why. `primary` is the number of calls that reached an endpoint. */
  readonly started: Readonly<Record<AttemptKind, number>>;
  /** Hedges for each call. */
  readonly hedgeAttemptRate: number;
  /** Calls that a hedge answered, of all calls. */
  readonly hedgeWinRate: number;
  /** Hedges that won, of all hedges. */
  readonly hedgeRaceWinRatio: number;
  /** Attempts beyond the first of each call, for each call: what the policies cost the origin. */
  readonly originOverhead: number;
  /** What a call without options waits before it hedges, in milliseconds; null without `hedge`. */
  readonly hedgeDelayMs: number | null;
  /** Hedges that could start now; null without `hedge`. */
  readonly hedgeTokens: number | null;
  /** By endpoint; empty without `breaker`. */
  readonly breakers: readonly BreakerState[];
  /** Calls under way, those included that are answered while a loser runs on. */
  readonly pending: number;
  /** Running attempts, without hedges. */
  readonly inFlight: number;
  /** Timers that are set. */
  readonly timers: number;
}

type Counters = {
  readonly [Group in "hedge" | "attempt" | "started" | "rate"]: (...names: string[]) => number;
};

/** A source's counters of this moment, by name. */
export function readCounters(core: SourceCore): Counters {
  const numbers = core.native.counters();
  const at = new Map(SOURCE_COUNTERS.map((names, place) => [names.join(" "), numbers[place] as number]));
  const read =
    (group: string) =>
    (...names: string[]): number =>
      at.get([group, ...names].join(" ")) ?? 0;
  return { hedge: read("hedge"), attempt: read("attempt"), started: read("started"), rate: read("rate") };
}

/** A snapshot of everything counted. */
export function sourceStats(core: SourceCore): SourceStats {
  core.tell(nothing);
  const { hedge, attempt, started, rate } = readCounters(core);
  const gauges = core.native.gauges();
  const hedges = core.options.hedge !== undefined && core.options.hedge !== false;
  return {
    hedges: each(HEDGE_EVENTS, (event) => hedge(event)),
    attempts: each(ATTEMPT_KINDS, (kind) => each(ATTEMPT_OUTCOMES, (outcome) => attempt(kind, outcome))),
    started: each(ATTEMPT_KINDS, (kind) => started(kind)),
    hedgeAttemptRate: rate("hedgeAttemptRate"),
    hedgeWinRate: rate("hedgeWinRate"),
    hedgeRaceWinRatio: rate("hedgeRaceWinRatio"),
    originOverhead: rate("originOverhead"),
    hedgeDelayMs: gauges.hedgeDelayMs ?? null,
    hedgeTokens: hedges ? gauges.tokens : null,
    breakers: gauges.breakers as BreakerState[],
    pending: gauges.pending,
    inFlight: gauges.inFlight,
    timers: gauges.timers,
  };
}

function nothing(): void {}

function each<Name extends string, Value>(names: readonly Name[], make: (name: Name) => Value): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, Value>;
}
