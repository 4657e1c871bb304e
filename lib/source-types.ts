import type { Deadline } from "./deadline";
import type { DialCacheMetricsAdapter } from "./metrics";
import type { Awaitable } from "./serializer";
import type { SourceStats } from "./source-stats";

/** How urgent a call is: presets for what neither the call nor its source names. It turns no policy on. */
export type SourcePriority = "high" | "normal" | "low";

/** Why an attempt was started. */
export type AttemptKind = "primary" | "hedge" | "failover" | "retry";

/** How an attempt ended: `timeout` at the operation's deadline, `cancelled` because it was not wanted any more. */
export type AttemptOutcome = "ok" | "error" | "timeout" | "cancelled";

/** What happened to a hedge. */
export type HedgeEvent =
  | "started"
  | "won"
  | "lost"
  | "failed"
  | "denied_budget"
  | "denied_gate"
  | "denied_breaker"
  | "denied_deadline";

/** What an endpoint's breaker does: let everything through, nothing, or one probe. */
export type BreakerState = "closed" | "open" | "half_open";

/** What an attempt is given beside the arguments of its call. */
export interface SourceContext {
  /** Aborts when the attempt is not wanted any more: its `reason` says why. To be handed to whatever does the work. */
  readonly signal: AbortSignal;
  /** Number of the attempt in its call, from 1. */
  readonly attempt: number;
  /** Why it was started. */
  readonly kind: AttemptKind;
  /** Place of the endpoint in the list of the source, from 0. */
  readonly endpoint: number;
  /** The whole operation's, all attempts together; undefined when nothing bounds it. */
  readonly deadline: Deadline | undefined;
}

/** One endpoint of a source. */
// biome-ignore lint/suspicious/noExplicitAny: with unknown[], the parameters of the second function of a list are unknown
export type SourceFunction<Args extends any[], T> = (ctx: SourceContext, ...args: Args) => Awaitable<T>;

/** How many hedges calls earn. In every interval there are at most `burst + ratio * primaries`. */
export interface HedgeBudgetOptions {
  /** Hedges for each primary attempt: above 0, at most 0.15. Default 0.10. */
  readonly ratio?: number | undefined;
  /** How many can be saved up, and are at the start: a whole number of at least 1. Default 10. */
  readonly burst?: number | undefined;
}

/** What one call may say about hedging; the rest belongs to the source. */
export interface HedgeOverride {
  /**
   * How long an attempt may be late before another one is started beside it, in milliseconds: above 0 and below the
   * timeout. `"auto"` is the latency's `quantile`. Default: the priority's; without one `"auto"`.
   */
  readonly delayMs?: number | "auto" | undefined;
  /** What `"auto"` waits while it knows too little, in milliseconds. Default: the priority's delay; without one 200. */
  readonly initialDelayMs?: number | undefined;
  /** How many hedges a call may have. Default 1. */
  readonly maxHedges?: number | undefined;
  /** Whether the attempts that lost are aborted. Default true. */
  readonly cancelLoser?: boolean | undefined;
}

/** One more attempt when an answer is late. Needs `idempotent: true`. */
export interface HedgeOptions extends HedgeOverride {
  /** Part of the calls that `"auto"` takes to be on time: below 1. Default, and the least it can be: `1 - budget.ratio`. */
  readonly quantile?: number | undefined;
  /** How far back `"auto"` looks, in milliseconds. Default 60,000. */
  readonly windowMs?: number | undefined;
  /** How many calls `"auto"` must have seen in the window. Default 100. */
  readonly minSamples?: number | undefined;
  /** The least that `"auto"` waits, in milliseconds. Default 1. */
  readonly minDelayMs?: number | undefined;
  /** How many hedges calls earn. */
  readonly budget?: HedgeBudgetOptions | undefined;
  /** Asked when a hedge is due: true lets it start; anything else denies it, as does a throw. Default: none. */
  readonly gate?: (() => boolean) | undefined;
  /** No hedge starts while 80 % of so many attempts, hedges not counted, are under way. Default: no limit. */
  readonly maxInFlight?: number | undefined;
}

/** Which of the other endpoints comes next: in their order, in turn, or any. */
export type FailoverPolicy = "sequential" | "round-robin" | "random";

/** Another endpoint when an attempt failed for a transient reason. Needs `idempotent: true`. */
export interface FailoverOptions {
  /** Default `sequential`. */
  readonly policy?: FailoverPolicy | undefined;
  /**
   * HTTP statuses that are transient failures: of an `httpSource()`'s answer, or in an error's `status`, `statusCode` or
   * `response`. Default 500, 502, 503, 504, 522 and 524.
   */
  readonly failOnStatuses?: readonly number[] | undefined;
  /** Whether endpoints with an open breaker are left out. Default true. */
  readonly respectCircuitBreaker?: boolean | undefined;
}

/** One more attempt, after a while, when an attempt failed for a transient reason. Needs `idempotent: true`. */
export interface RetryOptions {
  /** How many attempts a call may have, hedges and failovers included. Default: the priority's; without one 3. */
  readonly maxAttempts?: number | undefined;
  /** Upper bound of the first wait, in milliseconds: it is drawn from 0 to there, and doubles each time. Default 50. */
  readonly baseDelayMs?: number | undefined;
  /** Upper bound of every wait, in milliseconds. Default 1,000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Whether another attempt may not meet this error. Replaces the default: connection errors and `failOnStatuses`. One
   * that throws, or answers anything but true, makes the error fatal.
   */
  readonly isTransient?: ((error: unknown) => boolean) | undefined;
}

/**
 * A breaker for each endpoint: it opens when half of at least 20 calls in 10 s have failed, for 5 s, doubling up to 60 s
 * while its one probe fails. It has no options.
 */
export type BreakerOptions = Readonly<Record<string, never>>;

/** A hedge was started. */
export interface HedgeStarted {
  /** Name of the source. */
  readonly source: string;
  /** Number of the new attempt, from 1. */
  readonly attempt: number;
  /** Its endpoint's place, from 0. */
  readonly endpoint: number;
  /** Milliseconds since the call began. */
  readonly afterMs: number;
}

/** A failover was started. */
export interface FailoverStarted {
  /** Name of the source. */
  readonly source: string;
  /** Number of the new attempt, from 1. */
  readonly attempt: number;
  /** Place of the endpoint that failed, from 0. */
  readonly from: number;
  /** Its endpoint's place, from 0. */
  readonly endpoint: number;
}

/** A retry was started. */
export interface RetryStarted {
  /** Name of the source. */
  readonly source: string;
  /** Number of the new attempt, from 1. */
  readonly attempt: number;
  /** Its endpoint's place, from 0. */
  readonly endpoint: number;
  /** How long it waited, in milliseconds. */
  readonly backoffMs: number;
}

/** An attempt brought the result. */
export interface AttemptWon {
  /** Name of the source. */
  readonly source: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Why it had been started. */
  readonly kind: AttemptKind;
  /** Its endpoint's place, from 0. */
  readonly endpoint: number;
  /** How long the race lasted, in milliseconds: from the start of its last runner; 0 without a race. */
  readonly marginMs: number;
  /** How many attempts were still running. */
  readonly losers: number;
}

/** Told what a source does, in the call's own async context. A listener that throws or rejects is ignored. */
export interface SourceEvents {
  /** Told when a hedge is started. */
  readonly onHedge?: ((event: HedgeStarted) => void) | undefined;
  /** Told when a failover is started. */
  readonly onFailover?: ((event: FailoverStarted) => void) | undefined;
  /** Told when a retry is started. */
  readonly onRetry?: ((event: RetryStarted) => void) | undefined;
  /** Told when an attempt brought the result. */
  readonly onWinner?: ((event: AttemptWon) => void) | undefined;
}

/** Policies of a source. Each is off until it is named. */
export interface SourcePolicies extends SourceEvents {
  /** Stable name, for errors, figures and labels. */
  readonly name: string;
  /** Whether a call may be made twice without harm. Default false. */
  readonly idempotent?: boolean | undefined;
  /**
   * How long a call may take with all its attempts, in milliseconds: a whole number from 1 to 2,147,483,647. Default: the
   * priority's; without one there is no limit.
   */
  readonly timeoutMs?: number | undefined;
  /** Default: none, and none of its presets. */
  readonly priority?: SourcePriority | undefined;
  /** Default: off. */
  readonly hedge?: HedgeOptions | false | undefined;
  /** Default: off. */
  readonly failover?: FailoverOptions | false | undefined;
  /** Default: off. */
  readonly retry?: RetryOptions | false | undefined;
  /** Default: off. */
  readonly breaker?: BreakerOptions | false | undefined;
  /** Receives the source's counts, for sources that are used without a cache. Default: none. */
  readonly metrics?: DialCacheMetricsAdapter | undefined;
}

/** Options of `source()`. */
export type SourceOptions = SourcePolicies;

/** What one call of a source may differ in: before the source's options, which are before the priority's presets. */
export interface ExecuteOptions {
  /** Presets for what neither this call nor the source names. */
  readonly priority?: SourcePriority | undefined;
  /** The caller's own: when it aborts, so do all attempts, and the call is rejected with its `reason`. */
  readonly signal?: AbortSignal | undefined;
  /** How long the call may take with all its attempts, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Bounds the call, beside its own timeout. */
  readonly deadline?: Deadline | undefined;
  /** False turns it off for this call. */
  readonly hedge?: HedgeOverride | false | undefined;
  /** False turns it off for this call. */
  readonly failover?: FailoverOptions | false | undefined;
  /** False turns it off for this call. */
  readonly retry?: RetryOptions | false | undefined;
}

/**
 * A function made of several, with policies. It stands wherever a plain function may, in `cached()` and `getOrLoad()` too,
 * and is one itself: a call is `execute()` without options.
 */
// biome-ignore lint/suspicious/noExplicitAny: as for SourceFunction
export interface Source<Args extends any[], T> {
  (...args: Args): Promise<T>;
  /** Name it was given. */
  readonly name: string;
  /**
   * Calls it.
   * @returns The first usable result. Rejects with the attempt's own error when there was one attempt or the error is
   * fatal; {@link SourceAttemptsError} when several failed; {@link DeadlineExceededError}; {@link BreakerOpenError}; or the
   * `reason` of `options.signal`.
   * @throws TypeError or RangeError naming a bad option (as a rejection).
   */
  execute(options: ExecuteOptions, ...args: Args): Promise<T>;
  /** What was counted since it was made. */
  stats(): SourceStats;
}
