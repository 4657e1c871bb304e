import { startOpenLoop } from "../support/open-loop";
import { realDelay } from "../support/real-time";
import type { LoopWatch } from "./loop-watch";
import type { RoundPlan } from "./plan";
import { Random } from "./random";
import { type Item, KEY_TYPE, type Origin, padOf, type Service, USE_CASES, type UseCase } from "./service";

/** Longer than a round: whatever is written behind an invalidation is barred. */
const FUTURE_BUFFER_MS = 30_000;

/** Ids that are invalidated; the others are not, so that they stay hits. */
const CHANGING = 5;

/** What callers may wait beyond the read deadline and the source. */
const ALLOWANCE_MS = 20;

/** What was found wrong, in words. */
export type Complaint = string;

/** Calls, and what they came to. */
export interface LoadReport {
  readonly calls: number;
  readonly complaints: readonly Complaint[];
  /** Milliseconds of each call beyond read deadline and source; negative when it took less. */
  readonly over: readonly number[];
  /** The same without the time in which the event loop was held up. */
  readonly ownOver: readonly number[];
  readonly invalidations: { readonly done: number; readonly failed: number };
}

/** An invalidation that Redis took. */
interface Fence {
  readonly version: number;
  readonly by: Service;
  readonly at: number;
}

/** Calls of all services by the clock, each checked. */
export class Load {
  readonly #plan: RoundPlan;
  readonly #services: readonly Service[];
  readonly #origin: Origin;
  readonly #watch: LoopWatch;
  readonly #complaints: Complaint[] = [];
  readonly #over: number[] = [];
  readonly #ownOver: number[] = [];
  readonly #fences = new Map<string, Fence[]>();
  readonly #invalidations = { done: 0, failed: 0 };
  #isStopping = false;

  constructor(plan: RoundPlan, services: readonly Service[], origin: Origin, watch: LoopWatch) {
    this.#plan = plan;
    this.#services = services;
    this.#origin = origin;
    this.#watch = watch;
  }

  /** Begins, and ends when asked to; resolves when all calls and invalidations have settled. */
  start(): () => Promise<LoadReport> {
    const { seed, round } = this.#plan;
    // One for each, or which numbers the calls get would be a matter of time.
    const random = new Random(seed, round, 1);
    const loop = startOpenLoop(this.#plan.callsPerSecond, () => {
      const service = random.pick(this.#services);
      const useCase = random.pick(USE_CASES);
      return this.#call(service, useCase, String(random.between(0, this.#plan.ids - 1)));
    });
    const invalidating = this.#plan.invalidations ? this.#invalidate(new Random(seed, round, 2)) : Promise.resolve();
    return async () => {
      this.#isStopping = true;
      const { started, errors } = await loop.stop();
      await invalidating;
      for (const error of errors) this.#complain(`a caller got an error: ${String(error)}`);
      return {
        calls: started,
        complaints: this.#complaints,
        over: this.#over,
        ownOver: this.#ownOver,
        invalidations: this.#invalidations,
      };
    };
  }

  async #call(service: Service, useCase: UseCase, id: string): Promise<void> {
    const from = performance.now();
    const floor = useCase === "Tracked" ? this.#floor(service, id, from) : 1;
    const item = await service.load(useCase, id);
    const to = performance.now();
    this.#check(item, service, useCase, id, floor);
    const over = to - from - this.#plan.readTimeoutMs - this.#plan.sourceMs;
    this.#over.push(over);
    // The loop is looked at by a timer, which may be behind this continuation in the same turn.
    this.#ownOver.push(over <= ALLOWANCE_MS ? over : await this.#own(over, from, to));
  }

  async #own(over: number, from: number, to: number): Promise<number> {
    await realDelay(10);
    return over - this.#watch.heldBetween(from, to);
  }

  /** The version that a call which begins now must not be behind. */
  #floor(service: Service, id: string, now: number): number {
    // A flight of another process may have begun before, and be joined as long as it lasts and lingers.
    const flightMs = 2 * this.#plan.readTimeoutMs + this.#plan.sourceMs;
    const binding = (this.#fences.get(id) ?? []).filter(
      ({ by, at }) => by === service || now - at - this.#watch.heldBetween(at, now) > flightMs + ALLOWANCE_MS,
    );
    // Another process's local layer knows of nothing.
    const heard = this.#plan.local ? binding.filter(({ by }) => by === service) : binding;
    return Math.max(1, ...heard.map(({ version }) => version));
  }

  #check(item: Item, service: Service, useCase: UseCase, id: string, floor: number): void {
    const { version } = item;
    const { name } = service.client;
    if (item.useCase !== useCase || item.id !== id) {
      this.#complain(`${name}: ${useCase} ${id} got ${item.useCase} ${item.id}`);
    } else if (item.pad !== padOf(useCase, id, version, this.#plan.valueBytes)) {
      this.#complain(`${name}: ${useCase} ${id} got a changed value`);
    } else if (version < floor) {
      this.#complain(`${name}: ${useCase} ${id} got version ${version} after ${floor} was invalidated`);
    }
  }

  async #invalidate(random: Random): Promise<void> {
    const asked: Promise<void>[] = [];
    while (!this.#isStopping) {
      await realDelay(random.between(40, 150));
      const by = random.pick(this.#services);
      const id = String(random.between(0, Math.min(CHANGING, this.#plan.ids) - 1));
      const version = this.#origin.change(id);
      asked.push(
        by.cache.invalidateRemote(KEY_TYPE, id, FUTURE_BUFFER_MS).then(
          () => {
            this.#invalidations.done += 1;
            const fences = this.#fences.get(id) ?? [];
            this.#fences.set(id, [...fences, { version, by, at: performance.now() }]);
          },
          // It was told: whoever called it may try again.
          () => {
            this.#invalidations.failed += 1;
          },
        ),
      );
    }
    await Promise.all(asked);
  }

  #complain(complaint: Complaint): void {
    // Enough to see the kind; the number is told.
    if (this.#complaints.length < 20) this.#complaints.push(complaint);
  }
}
