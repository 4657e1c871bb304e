import type { Clock } from "./clock";
import type { NativeEngine } from "./native";
import { inRootContext } from "./root";

// Not looked up later: under fake timers only an installed clock's deadlines are to move.
const realSetTimeout = setTimeout;
const realClearTimeout = clearTimeout;

/** Real time's timers. */
export const REAL_TIMERS: Pick<Clock, "setTimeout" | "clearTimeout"> = {
  setTimeout: (fn, ms) => realSetTimeout(fn, ms),
  clearTimeout: (handle) => realClearTimeout(handle as NodeJS.Timeout | undefined),
};

/**
 * The one timer of an instance, set to the earliest of its engine's deadlines.
 *
 * It may fire early, when that deadline was disarmed meanwhile; then it is set again. That is cheaper than moving it
 * each time the earliest deadline ends.
 */
export class DeadlineTimer {
  readonly #engine: NativeEngine;
  readonly #clock: Clock | undefined;
  readonly #fired: () => void;
  #handle: unknown;

  /** @param fired - Tells the engine the time and handles what is due, then calls `sync()`. */
  constructor(engine: NativeEngine, clock: Clock | undefined, fired: () => void) {
    this.#engine = engine;
    this.#clock = clock;
    this.#fired = () => {
      this.#handle = undefined;
      fired();
    };
  }

  /** Sets, moves, references or clears the timer as the engine wants it now. */
  sync(): void {
    const { delayMs, referenced } = this.#engine.timer();
    this.#clear();
    if (delayMs === undefined || delayMs === null) return;
    // A longer delay would fire at once; firing early only means setting it again.
    const delay = Math.min(delayMs, 0x7fffffff);
    if (this.#clock !== undefined) {
      this.#handle = this.#clock.setTimeout(this.#fired, delay);
      if (!referenced) (this.#handle as { unref?: () => void } | undefined)?.unref?.();
      return;
    }
    const handle = inRootContext(realSetTimeout, this.#fired, delay) as NodeJS.Timeout;
    if (!referenced) handle.unref();
    this.#handle = handle;
  }

  #clear(): void {
    if (this.#handle === undefined) return;
    if (this.#clock !== undefined) this.#clock.clearTimeout(this.#handle);
    else realClearTimeout(this.#handle as NodeJS.Timeout);
    this.#handle = undefined;
  }
}
