const EVERY_MS = 4;

/** How late a timer is that nothing holds up, at the most. */
const USUAL_MS = 4;

/** Looks how late the event loop is: what a call in this process cannot be blamed for. */
export class LoopWatch {
  /** Times the loop was held up, in order. */
  readonly #held: { readonly from: number; readonly to: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The longest one, in milliseconds. */
  worstMs = 0;

  start(): void {
    const due = performance.now() + EVERY_MS;
    this.#timer = setTimeout(() => {
      const now = performance.now();
      const late = now - due;
      this.worstMs = Math.max(this.worstMs, late);
      if (late > USUAL_MS) this.#held.push({ from: due, to: now });
      this.start();
    }, EVERY_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Milliseconds between two times in which the loop was held up. */
  heldBetween(from: number, to: number): number {
    let sum = 0;
    for (let index = this.#held.length - 1; index >= 0; index -= 1) {
      const held = this.#held[index]!;
      if (held.to < from) break;
      sum += Math.max(0, Math.min(held.to, to) - Math.max(held.from, from));
    }
    return sum;
  }
}
