// The public API, generated from lib/testing.ts by `npm run types`. Do not edit.
/// <reference types="node" />

/**
 * Resolves when no native work of this thread is waited for any more: requests of native clients, those of shadow
 * validations included, and payloads of other clients on their way through the compressor. Neither requests of shadow
 * validations nor this promise keep the process alive.
 */
export declare function idle(): Promise<void>;

/**
 * Makes instances created from now on ask `clock` for time and timers: deadlines, TTLs, windows and ages. Connection,
 * response and reconnect budgets stay real. Instances that already exist keep the clock they were created with.
 *
 * A function left out is the global one of the moment it is called, so `installClock()` is enough under vitest's,
 * jest's or sinon's fake timers, whether they are installed before or after this package is loaded.
 *
 * @returns A function that takes this clock away again; the one installed before it, or real time, is back.
 * @throws TypeError when a member is not a function.
 */
export declare function installClock(clock?: Partial<Clock>): () => void;

/**
 * A clock for tests: give it to `installClock()`, then `await clock.advance(50)`.
 * @throws TypeError or RangeError naming a bad option.
 */
export declare function manualClock(options?: ManualClockOptions): ManualClock;

/** Where an instance gets its time and timers from when it is not the real one. */
export interface Clock {
  /** Monotonic milliseconds, fractions allowed, any origin (zero is a time like any other). */
  now(): number;
  /** Milliseconds since the Unix epoch. */
  wallNow(): number;
  /** Calls `fn` once, `ms` milliseconds from now. */
  setTimeout(fn: () => void, ms: number): unknown;
  /** Takes back what `setTimeout` returned; unknown and spent handles are ignored. */
  clearTimeout(handle: unknown): void;
  /** Calls `fn` soon, without time passing. */
  setImmediate?(fn: () => void): unknown;
}

/** A clock that stands still until it is told to move. */
export interface ManualClock extends Required<Clock> {
  /**
   * Moves time on by `ms` milliseconds and fires what falls due, in order of time and then of arming, including timers
   * armed meanwhile. Promise jobs and real macrotasks run before, between and after, so chains of awaits progress.
   * Resolves when nothing due is left. `advance(0)` only fires what is due already.
   *
   * @throws RangeError for a negative or non-finite `ms`; whatever a timer throws.
   */
  advance(ms: number): Promise<void>;
}

/** Where a manual clock starts. */
export interface ManualClockOptions {
  /** First answer of `now()`, in milliseconds. Default 0. */
  readonly now?: number | undefined;
  /** First answer of `wallNow()`, in milliseconds since the epoch. Default: the real time. */
  readonly wallNow?: number | undefined;
}

export {};
