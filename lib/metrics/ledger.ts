import type { Countable, Reading } from "../figures";
import type { Count, CountingHook, LabelsOf } from "../tally";
import { COUNTED, type Tags, tagsKey, tagsOf } from "./catalogue";

/** How often one event happened, over all instances. The same object each time it is read. */
export interface Total {
  readonly hook: CountingHook;
  readonly tags: Tags;
  total: number;
  /** The part of it that no attached instance counts: direct calls, and instances that are gone. */
  settled: number;
  /** What stands before its number where it is written as text; made by who writes it first. */
  head: string | undefined;
}

interface Source {
  readonly figures: Countable;
  readonly totals: Map<Count, Total>;
}

/** Sums what instances counted. Keeps none of them alive, and forgets nothing that one of them counted. */
export class Ledger {
  readonly #sources = new Set<Source>();
  readonly #totals = new Map<string, Total>();
  readonly #collected = new FinalizationRegistry<Source>((source) => this.#settle(source));

  /** Counts `figures` too, once. They are read for the last time once `owner` was collected. */
  attach(figures: Countable, owner: object): void {
    for (const known of this.#sources) if (known.figures === figures) return;
    const source = { figures, totals: new Map() };
    this.#sources.add(source);
    this.#collected.register(owner, source);
  }

  /** Instances that still count. */
  get attached(): number {
    return this.#sources.size;
  }

  /** Counts an event that was told directly. */
  add<Hook extends CountingHook>(hook: Hook, labels: LabelsOf<Hook>): void {
    this.#total(hook, labels).settled += 1;
  }

  /** Everything that ever happened, as of now. */
  read(): Iterable<Total> {
    for (const total of this.#totals.values()) total.total = total.settled;
    for (const source of this.#sources) {
      source.figures.each((count) => {
        this.#totalOf(source, count).total += count.total;
      });
    }
    return this.#totals.values();
  }

  /** Calls `visit` with what goes up and down, as of now. */
  gauges(visit: (reading: Reading) => void): void {
    for (const { figures } of this.#sources) figures.gauges?.(visit);
  }

  #settle(source: Source): void {
    this.#sources.delete(source);
    source.figures.each((count) => {
      this.#totalOf(source, count).settled += count.total;
    });
  }

  #totalOf({ totals }: Source, count: Count): Total {
    const known = totals.get(count);
    if (known !== undefined) return known;
    const total = this.#total(count.hook, count.labels);
    totals.set(count, total);
    return total;
  }

  #total(hook: CountingHook, labels: LabelsOf<CountingHook>): Total {
    const key = hook + tagsKey(COUNTED[hook], labels);
    const known = this.#totals.get(key);
    if (known !== undefined) return known;
    const total = { hook, tags: tagsOf(COUNTED[hook], labels), total: 0, settled: 0, head: undefined };
    this.#totals.set(key, total);
    return total;
  }
}
