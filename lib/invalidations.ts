/** Groups remembered one by one; beyond that, everything counts as invalidated at the latest of them. */
const MOST_GROUPS = 10_000;

/**
 * When ids were invalidated by this process, as counts rather than times. It tells request-local values that were loaded
 * before from those loaded after.
 */
export class Invalidations {
  #count = 0;
  /** At least as late as every invalidation that is no longer remembered. */
  #floor = 0;
  readonly #latest = new Map<string, number>();

  /** How many there have been. */
  get count(): number {
    return this.#count;
  }

  /** An id is invalidated now. */
  add(keyType: string, id: string): void {
    this.#count += 1;
    if (this.#latest.size >= MOST_GROUPS) {
      this.#latest.clear();
      this.#floor = this.#count;
    }
    this.#latest.set(groupOf(keyType, id), this.#count);
  }

  /** The count at the id's latest invalidation; possibly a later one, never an earlier one. */
  latest(keyType: string, id: string): number {
    return Math.max(this.#latest.get(groupOf(keyType, id)) ?? 0, this.#floor);
  }
}

function groupOf(keyType: string, id: string): string {
  return `${keyType.length}:${keyType}${id}`;
}
