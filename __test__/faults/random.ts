/** A small generator with a seed: the same one gives the same numbers (mulberry32). */
export class Random {
  #state: number;

  /** @param parts - Whole numbers that together name the sequence. */
  constructor(...parts: number[]) {
    this.#state = parts.reduce((state, part) => Math.imul(state ^ part, 0x9e3779b1) ^ (state >>> 15), 0x2545f491);
  }

  /** At least 0 and below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[this.between(0, items.length - 1)] as T;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }
}
