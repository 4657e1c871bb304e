import { onAbort } from "./abort-listeners";
import { Alarm } from "./alarm";
import { type Clock, installedClock } from "./clock";
import { DeadlineExceededError } from "./errors";
import { abortSignal, callback, optionNames, type Place, readOptions, refuse } from "./option-reader";
import { timeoutMs } from "./redis-options";
import type { Awaitable } from "./serializer";
import { adopt } from "./thenable";

/** Options of {@link Deadline.run}. */
export interface DeadlineRunOptions {
  /** The caller's own: when it aborts, the step is rejected with its `reason`, which is no timeout. */
  readonly signal?: AbortSignal | undefined;
}

const AFTER: Place = { api: "Deadline.after()", path: "" };
const RUN: Place = { api: "Deadline.run()", path: "" };
const RUN_OPTIONS = optionNames("signal");

/** A step under way. */
interface Step {
  readonly name: string;
  reject(error: unknown): void;
}

/**
 * One time limit for several steps together, so that their limits do not add up.
 *
 * It counts from when it was made, on a monotonic clock. An idle one does not keep the process alive, a pending step does.
 */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #at: number;
  readonly #alarm: Alarm;
  #armed = false;
  #controller: AbortController | undefined;
  #error: DeadlineExceededError | undefined;
  /** Steps under way, in the order they began. */
  readonly #pending = new Set<Step>();
  #lastStep: string | undefined;

  private constructor(timeout: number, clock: Clock | undefined, since?: number) {
    this.#timeoutMs = timeout;
    this.#alarm = new Alarm(clock, () => this.#expire());
    this.#at = (since ?? this.#alarm.now()) + timeout;
  }

  /**
   * A deadline `ms` milliseconds from now: a whole number from 1 to 2,147,483,647.
   * @throws TypeError or RangeError for anything else.
   */
  static after(ms: number): Deadline {
    return new Deadline(timeoutMs(ms, AFTER, "ms"), installedClock());
  }

  /**
   * A deadline of another clock than the one installed now, that counts from another time.
   * @internal
   */
  static on(clock: Clock | undefined, ms: number, since: number): Deadline {
    return new Deadline(ms, clock, since);
  }

  /**
   * A step of somebody else's begins, which keeps its own time: the signal's reason is to name it.
   * @internal
   */
  entered(step: string): void {
    this.#lastStep = step;
  }

  /**
   * The error of a step that this deadline has ended: the signal's reason when that is of the same step.
   * @internal
   */
  exceededDuring(step: string): DeadlineExceededError {
    this.#lastStep = step;
    this.#expired();
    return this.#errorOf(step);
  }

  /** Aborts when the time is up, whether or not anyone holds the deadline. Its `reason` is a {@link DeadlineExceededError}. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#expired()) this.#controller.abort(this.#error);
    else this.#arm();
    return this.#controller.signal;
  }

  /** What is left, in milliseconds; 0 when the time is up. */
  remainingMs(): number {
    return Math.max(this.#at - this.#alarm.now(), 0);
  }

  /**
   * Runs `fn`, and waits for it no longer than the deadline. What it does afterwards is ignored.
   * @param step - Names it in errors.
   * @param fn - Gets a signal that aborts when nobody waits any more. Is not called when the time is up already.
   * @returns What `fn` does; or rejects with a {@link DeadlineExceededError}, also when `fn` settled too late and no timer
   * had fired yet, or with the `reason` of `options.signal`.
   * @throws TypeError naming a bad argument (as a rejection).
   */
  async run<T>(step: string, fn: (signal: AbortSignal) => Awaitable<T>, options: DeadlineRunOptions = {}): Promise<T> {
    if (typeof step !== "string") throw refuse(step, RUN, "step", "string", "a string");
    callback(fn, RUN, "fn");
    const { signal } = readOptions(options, RUN, RUN_OPTIONS);
    const callers = signal === undefined ? undefined : abortSignal(signal, RUN, "signal");
    if (this.#expired()) throw this.#errorOf(step);
    if (callers?.aborted === true) throw callers.reason;
    return await this.#run(step, fn, callers);
  }

  #run<T>(name: string, fn: (signal: AbortSignal) => Awaitable<T>, callers: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const own = callers === undefined ? undefined : new AbortController();
      const step: Step = {
        name,
        reject: (error) => {
          end();
          own?.abort(error);
          reject(error);
        },
      };
      const aborted = (): void => {
        if (this.#pending.has(step)) step.reject((callers as AbortSignal).reason);
      };
      const unlisten = callers === undefined ? undefined : onAbort(callers, aborted);
      const end = (): void => {
        this.#end(step);
        unlisten?.();
      };
      /** Whether the step is still waited for and in time. */
      const settles = (): boolean => {
        if (this.#pending.has(step)) this.#expired();
        if (!this.#pending.has(step)) return false;
        end();
        return true;
      };
      this.#begin(step);
      let result: Awaitable<T>;
      try {
        result = fn(own?.signal ?? this.signal);
      } catch (error) {
        if (settles()) reject(error);
        return;
      }
      adopt(result).then(
        (value) => {
          if (settles()) resolve(value);
        },
        (error: unknown) => {
          if (settles()) reject(error);
        },
      );
    });
  }

  #begin(step: Step): void {
    this.#pending.add(step);
    this.#lastStep = step.name;
    this.#arm();
    this.#alarm.reference(true);
  }

  #end(step: Step): void {
    this.#pending.delete(step);
    if (this.#pending.size === 0) this.#alarm.reference(false);
  }

  #arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    this.#alarm.set(this.#at, this.#pending.size > 0);
  }

  /** Whether the time is up, noticed here if it was not yet. */
  #expired(): boolean {
    if (this.#error === undefined && this.remainingMs() === 0) this.#expire();
    return this.#error !== undefined;
  }

  /** First the signals, then whoever waits. */
  #expire(): void {
    if (this.#error !== undefined) return;
    this.#alarm.clear();
    const steps = [...this.#pending];
    this.#error = new DeadlineExceededError(this.#timeoutMs, steps.at(-1)?.name ?? this.#lastStep);
    this.#controller?.abort(this.#error);
    for (const step of steps) if (this.#pending.has(step)) step.reject(this.#errorOf(step.name));
  }

  /** The signal's reason, or one like it for another step. */
  #errorOf(step: string): DeadlineExceededError {
    return this.#error?.step === step ? this.#error : new DeadlineExceededError(this.#timeoutMs, step);
  }
}
