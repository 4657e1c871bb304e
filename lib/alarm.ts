import type { Clock } from "./clock";
import { inRootContext } from "./root";

// Not looked up later: under fake timers only an installed clock's deadlines are to move.
const realSetTimeout = setTimeout;
const realClearTimeout = clearTimeout;

/** Longest delay a timer takes; a longer one would fire at once. */
const LONGEST_MS = 0x7fffffff;

/** One timer, set to an instant of a clock. */
export class Alarm {
  readonly #clock: Clock | undefined;
  readonly #ring: () => void;
  readonly #shared: boolean;
  #at = Number.POSITIVE_INFINITY;
  #handle: unknown;
  #referenced = false;

  /**
   * @param clock - Undefined for real time.
   * @param shared - Whether it rings for many calls, and must not keep the async context of the one that sets it.
   */
  constructor(clock: Clock | undefined, ring: () => void, shared = false) {
    this.#clock = clock;
    this.#ring = ring;
    this.#shared = shared;
  }

  /** Monotonic milliseconds of its clock. */
  now(): number {
    return this.#clock === undefined ? performance.now() : this.#clock.now();
  }

  /** Rings once it is `at`, never earlier. */
  set(at: number, referenced: boolean): void {
    this.clear();
    this.#at = at;
    this.#referenced = referenced;
    this.#arm();
  }

  /** Whether it keeps the process alive. */
  reference(referenced: boolean): void {
    if (this.#referenced === referenced) return;
    this.#referenced = referenced;
    const handle = this.#handle as { ref?: () => void; unref?: () => void } | undefined;
    if (referenced) handle?.ref?.();
    else handle?.unref?.();
  }

  clear(): void {
    if (this.#handle === undefined) return;
    if (this.#clock !== undefined) this.#clock.clearTimeout(this.#handle);
    else realClearTimeout(this.#handle as NodeJS.Timeout);
    this.#handle = undefined;
  }

  #arm(): void {
    const delay = Math.min(Math.max(Math.ceil(this.#at - this.now()), 0), LONGEST_MS);
    const fire = (): void => this.#fire();
    const handle = this.#shared ? inRootContext(() => this.#start(fire, delay)) : this.#start(fire, delay);
    if (!this.#referenced) (handle as { unref?: () => void } | undefined)?.unref?.();
    this.#handle = handle;
  }

  #start(fire: () => void, delay: number): unknown {
    return this.#clock === undefined ? realSetTimeout(fire, delay) : this.#clock.setTimeout(fire, delay);
  }

  #fire(): void {
    this.#handle = undefined;
    // Timers count whole milliseconds of a clock of their own, and may be early by a part of one.
    if (this.now() < this.#at) this.#arm();
    else this.#ring();
  }
}
