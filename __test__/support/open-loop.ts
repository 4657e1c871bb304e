import { realDelay } from "./real-time";

/** What became of the calls so far. */
export interface Outcomes {
  readonly started: number;
  /** Calls that are not answered yet. */
  readonly pending: number;
  /** What calls were rejected with. */
  readonly errors: readonly unknown[];
}

/** Calls that begin by the clock, whether or not earlier ones have ended: a slow server does not make them fewer. */
export interface OpenLoop {
  readonly outcomes: Outcomes;
  /** Begins no more calls, and resolves when all have ended. */
  stop(): Promise<Outcomes>;
}

const TICK_MS = 2;

/**
 * Begins calls at a rate.
 *
 * @param perSecond - After a stall of the event loop what is due begins at once.
 * @param call - Is given its number, from 0.
 */
export function startOpenLoop(perSecond: number, call: (number: number) => Promise<unknown>): OpenLoop {
  let started = 0;
  let ended = 0;
  let isStopping = false;
  const errors: unknown[] = [];
  const outcomes: Outcomes = {
    get started() {
      return started;
    },
    get pending() {
      return started - ended;
    },
    errors,
  };
  const begin = async () => {
    const number = started;
    started += 1;
    try {
      await call(number);
    } catch (error) {
      errors.push(error);
    } finally {
      ended += 1;
    }
  };
  const run = async () => {
    const since = performance.now();
    while (!isStopping) {
      const due = Math.floor(((performance.now() - since) * perSecond) / 1_000);
      while (started < due) void begin();
      await realDelay(TICK_MS);
    }
    while (ended < started) await realDelay(TICK_MS);
  };
  const running = run();
  return {
    outcomes,
    stop: async () => {
      isStopping = true;
      await running;
      return outcomes;
    },
  };
}
