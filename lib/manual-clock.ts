import { MessageChannel } from "node:worker_threads";
import type { Clock } from "./clock";
import { optionNames, type Place, readOptions, refuse, undefinedOr } from "./option-reader";

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

interface Timer {
  readonly at: number;
  readonly fn: () => void;
}

/** More firings than this without time passing are a timer that re-arms itself with no delay. */
const MAX_FIRINGS_PER_INSTANT = 100_000;

const OPTIONS = optionNames("now", "wallNow");

/**
 * A clock for tests: give it to `installClock()`, then `await clock.advance(50)`.
 * @throws TypeError or RangeError naming a bad option.
 */
export function manualClock(options: ManualClockOptions = {}): ManualClock {
  const place = { api: "manualClock()", path: "" };
  const start = readOptions(options, place, OPTIONS);
  let now = finite(undefinedOr(start.now, 0), place, "now");
  const wallOffset = finite(undefinedOr(start.wallNow, Date.now()), place, "wallNow") - now;
  /** Armed timers, by time and then by arming. */
  const timers: Timer[] = [];
  let immediates: (() => void)[] = [];
  let flushing = false;
  let advancing: Promise<void> = Promise.resolve();

  const arm = (fn: () => void, ms: number): Timer => {
    const timer = { at: now + Math.max(ms || 0, 0), fn };
    let index = timers.length;
    while (index > 0 && timers[index - 1]!.at > timer.at) index--;
    timers.splice(index, 0, timer);
    return timer;
  };

  const flushImmediates = (): void => {
    const due = immediates;
    immediates = [];
    for (const fn of due) fn();
  };

  const settle = async (turns: Turns): Promise<void> => {
    await turns.next();
    for (let round = 0; immediates.length > 0 && round < MAX_FIRINGS_PER_INSTANT; round++) {
      flushImmediates();
      await turns.next();
    }
  };

  const advanceTo = async (target: number): Promise<void> => {
    const turns = openTurns();
    try {
      let firings = 0;
      await settle(turns);
      for (let timer = timers[0]; timer !== undefined && timer.at <= target; timer = timers[0]) {
        timers.shift();
        firings = timer.at > now ? 0 : firings + 1;
        if (firings > MAX_FIRINGS_PER_INSTANT) throw new RangeError("a timer re-arms itself without delay");
        now = Math.max(now, timer.at);
        timer.fn();
        await settle(turns);
      }
      now = Math.max(now, target);
      await settle(turns);
    } finally {
      turns.close();
    }
  };

  return {
    now: () => now,
    wallNow: () => wallOffset + now,
    setTimeout: arm,
    clearTimeout: (handle) => {
      const index = timers.indexOf(handle as Timer);
      if (index !== -1) timers.splice(index, 1);
    },
    setImmediate: (fn) => {
      immediates.push(fn);
      if (flushing) return;
      flushing = true;
      const turns = openTurns();
      void turns.next().then(() => {
        turns.close();
        flushing = false;
        flushImmediates();
      });
    },
    advance: (ms) => {
      if (!Number.isFinite(ms) || ms < 0) {
        return Promise.reject(new RangeError(`advance() takes milliseconds of at least 0, got ${String(ms)}`));
      }
      // Two calls that overlap move time one after the other.
      const done = advancing.then(() => advanceTo(now + ms));
      advancing = done.catch(() => {});
      return done;
    },
  };
}

function finite(value: unknown, place: Place, name: string): number {
  if (Number.isFinite(value)) return value as number;
  throw refuse(value, place, name, "number", "a finite number of milliseconds");
}

interface Turns {
  /** Resolves in a later turn of the event loop. */
  next(): Promise<void>;
  close(): void;
}

/** Turns of the real event loop, by a message to ourselves: fake timers replace every other way to wait for one. */
function openTurns(): Turns {
  const { port1, port2 } = new MessageChannel();
  return {
    next: () =>
      new Promise((resolve) => {
        port1.once("message", () => resolve());
        port2.postMessage(0);
      }),
    close: () => port1.close(),
  };
}
