import { onAbort } from "./abort-listeners";
import { Deadline } from "./deadline";
import { BreakerOpenError, DeadlineExceededError, HedgeLostError, SourceAttemptsError } from "./errors";
import { ignoreOutcome } from "./guard";
import {
  ACTION_ASK_GATE,
  ACTION_CANCEL,
  ACTION_REJECT,
  ACTION_RESOLVE,
  ACTION_START,
  ACTION_TELL,
  CANCEL_DEADLINE,
  CANCEL_LOST,
  CANCEL_SIBLING_FAILED,
  REJECT_ABORTED,
  REJECT_ATTEMPT,
  REJECT_ATTEMPTS,
  REJECT_DEADLINE,
  REJECT_TIMEOUT,
  type SourceEvent,
} from "./native";
import { ATTEMPT_KINDS, Attempt, AttemptContext } from "./source-attempt";
import type { SourceCore } from "./source-core";
import { tellEvent } from "./source-events";
import { DEFAULT_STATUSES, type ResolvedExecute } from "./source-options";
import { stackless } from "./stackless";
import { adopt } from "./thenable";
import { isTransient } from "./transient";

/** What the engine is told of a settled attempt. */
const OK = 0;
const TRANSIENT = 1;
const FATAL = 2;

/** What the engine wants done. */
interface Step {
  readonly action: number;
  readonly detail: number;
  readonly attempt: Attempt | undefined;
  readonly event: SourceEvent | undefined;
}

/** What a call was made with, beside its arguments. */
export interface OperationInput {
  readonly args: readonly unknown[];
  readonly call: ResolvedExecute | undefined;
  /** Milliseconds after which nobody waits for the call any more, whatever its own timeout is. */
  readonly limitMs: number | undefined;
}

/**
 * One call of a source. The engine decides each step; this does them, and runs user code, always in frames of the call
 * itself: what a timer or another call brings about waits for a continuation of this one.
 */
export class SourceOperation {
  /** What the caller gets. */
  readonly promise: Promise<unknown>;
  readonly #core: SourceCore;
  readonly #input: OperationInput;
  readonly #attempts: Attempt[] = [];
  readonly #queue: Step[] = [];
  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;
  #slot = -1;
  /** Attempts that the engine waits for. */
  #live = 0;
  /** Whether the engine has settled the call. */
  #settled = false;
  /** Whether a frame of the call itself is running, which does what is in the queue. */
  #attended = false;
  #resume: (() => void) | undefined;
  #unlisten: (() => void) | undefined;
  #abortReason: unknown;
  #fatalError: unknown;
  #expiry: Error | undefined;
  #winner: Attempt | undefined;
  /** Of the call alone, in milliseconds; undefined without one. */
  #timeoutMs: number | undefined;
  #since = 0;
  #deadline: { readonly of: Deadline | undefined } | undefined;

  constructor(core: SourceCore, input: OperationInput) {
    this.#core = core;
    this.#input = input;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Begins the call. @throws RangeError when its options and the source's do not go together. */
  start(): void {
    const { call, limitMs } = this.#input;
    if (call?.signal?.aborted === true) {
      this.#reject(call.signal.reason);
      return;
    }
    const given = call?.deadline?.remainingMs();
    if (given === 0) {
      this.#reject(exceeded(call?.deadline as Deadline, this.#core.name));
      return;
    }
    if (call?.deadline instanceof Deadline) call.deadline.entered(this.#core.name);
    const left = limitMs === undefined ? given : Math.min(limitMs, given ?? limitMs);
    this.#since = this.#core.now();
    this.#tell(() => {
      const { slot, timeoutMs } = this.#core.begin(this, call, left);
      this.#slot = slot;
      this.#timeoutMs = timeoutMs;
      this.#listen(call?.signal);
    });
    if (!this.#over) this.#wait();
  }

  /** The call is not waited for any more: aborts its attempts and rejects its promise. To be called in the call's context. */
  abort(reason: unknown): void {
    if (this.#settled || this.#slot < 0) return;
    this.#abortReason = reason;
    this.#tell(() => this.#core.steps.abort(this.#slot, 0));
  }

  /** As {@link SourceOperation.abort}, because it took too long: the attempts count as timeouts. */
  timeOut(error: Error): void {
    if (this.#settled || this.#slot < 0) return;
    this.#expiry = error;
    this.#tell(() => this.#core.steps.abort(this.#slot, 1));
  }

  /** A step of the engine's. Only taken note of: no user code may run here. */
  take(action: number, detail: number, number: number, endpoint: number, event: SourceEvent | undefined): void {
    let attempt = this.#attempts[number - 1];
    switch (action) {
      case ACTION_START:
        attempt = new Attempt(number, ATTEMPT_KINDS[detail]!, endpoint);
        this.#attempts.push(attempt);
        this.#live += 1;
        break;
      case ACTION_CANCEL:
        this.#end(attempt as Attempt);
        break;
      case ACTION_RESOLVE:
      case ACTION_REJECT:
        this.#settled = true;
        if (action === ACTION_RESOLVE) this.#winner = attempt;
        this.#unlisten?.();
        this.#core.answered();
        break;
    }
    this.#queue.push({ action, detail, attempt, event });
    this.#forgetWhenOver();
    if (!this.#attended) this.#resume?.();
  }

  /** Nothing of it is left in the engine. */
  get #over(): boolean {
    return this.#settled && this.#live === 0;
  }

  #forgetWhenOver(): void {
    if (this.#over) this.#core.forget(this.#slot, this);
  }

  #end(attempt: Attempt): void {
    if (!attempt.live) return;
    attempt.live = false;
    this.#live -= 1;
  }

  #listen(signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    this.#unlisten = onAbort(signal, () => {
      this.#abortReason = signal.reason;
      // In the context of whoever aborts: the steps are done in a continuation of the call.
      if (!this.#settled) this.#core.tell(() => this.#core.steps.abort(this.#slot, 0));
    });
  }

  /** Continues here once somebody else has brought about steps of this call. */
  #wait(): void {
    const woken = new Promise<void>((resolve) => {
      this.#resume = resolve;
    });
    woken.then(() => {
      this.#resume = undefined;
      if (!this.#over) this.#wait();
      this.#tell(undefined);
    });
  }

  /** Tells the engine something in a frame of this call, and does what comes of it. */
  #tell(tell: (() => void) | undefined): void {
    const outermost = !this.#attended;
    this.#attended = true;
    try {
      if (tell !== undefined) this.#core.tell(tell);
      // A frame further out is doing the steps in their order already.
      if (outermost) this.#doSteps();
    } catch (error) {
      // A call that did not begin has bad options; anything else is a bug, and the caller must not be left waiting.
      if (this.#slot < 0) throw error;
      this.#reject(error);
    } finally {
      if (outermost) this.#attended = false;
    }
  }

  #doSteps(): void {
    for (let step = this.#queue.shift(); step !== undefined; step = this.#queue.shift()) {
      try {
        this.#do(step);
      } catch (bug) {
        this.#reject(bug);
      }
    }
    this.#core.report();
  }

  #do({ action, detail, attempt, event }: Step): void {
    switch (action) {
      case ACTION_START:
        // Not when it was cancelled before it could begin.
        if (attempt?.live === true) this.#run(attempt);
        break;
      case ACTION_TELL:
        tellEvent(this.#core.name, this.#core.options.events, event as SourceEvent);
        break;
      case ACTION_ASK_GATE:
        this.#askGate();
        break;
      case ACTION_CANCEL:
        attempt?.abort(this.#cancelReason(detail));
        break;
      case ACTION_RESOLVE:
        this.#resolve(attempt?.value);
        break;
      case ACTION_REJECT:
        this.#reject(this.#rejection(detail, attempt));
        break;
    }
  }

  #askGate(): void {
    let allowed = false;
    try {
      const answer: unknown = this.#core.options.gate?.();
      ignoreOutcome(answer);
      allowed = answer === true;
    } catch {
      // A gate that cannot say so does not allow it.
    }
    if (!this.#over) this.#tell(() => this.#core.steps.gate(this.#slot, allowed ? 1 : 0));
  }

  #run(attempt: Attempt): void {
    const fn = this.#core.fns[attempt.endpoint] as (...args: unknown[]) => unknown;
    let result: unknown;
    try {
      result = fn(new AttemptContext(attempt, this), ...this.#input.args);
    } catch (error) {
      this.#failed(attempt, error);
      return;
    }
    adopt(result).then(
      (value) => this.#arrived(attempt, value),
      (error: unknown) => this.#failed(attempt, error),
    );
  }

  #arrived(attempt: Attempt, value: unknown): void {
    const { inspector } = this.#core;
    let refusal: unknown;
    try {
      if (attempt.live) refusal = inspector?.refusal(value, attempt.endpoint, this.#statuses);
    } catch (error) {
      this.#failed(attempt, error);
      return;
    }
    if (refusal !== undefined) {
      inspector?.discard(value);
      this.#failed(attempt, refusal);
      return;
    }
    attempt.value = value;
    this.#settle(attempt, OK);
    if (this.#winner !== attempt) inspector?.discard(value);
  }

  #failed(attempt: Attempt, error: unknown): void {
    if (!attempt.live) return;
    attempt.failure = { error };
    const own = this.#input.call?.isTransient ?? this.#core.options.isTransient;
    const outcome = isTransient(error, this.#statuses, own) ? TRANSIENT : FATAL;
    if (outcome === FATAL) this.#fatalError = error;
    this.#settle(attempt, outcome);
  }

  #settle(attempt: Attempt, outcome: number): void {
    if (!attempt.live) return;
    this.#end(attempt);
    this.#tell(() => this.#core.steps.settled(this.#slot, attempt.number * 4 + outcome));
    this.#forgetWhenOver();
  }

  get #statuses(): ReadonlySet<number> {
    return this.#input.call?.failOnStatuses ?? this.#core.options.failOnStatuses ?? DEFAULT_STATUSES;
  }

  #cancelReason(detail: number): unknown {
    switch (detail) {
      case CANCEL_LOST:
        return stackless(() => new HedgeLostError());
      case CANCEL_SIBLING_FAILED:
        return this.#fatalError;
      case CANCEL_DEADLINE: {
        // The rejection follows its cancellations; there is none when the call is answered already.
        const rejection = this.#queue.find(({ action }) => action === ACTION_REJECT);
        return this.#timeUp(rejection?.detail ?? REJECT_TIMEOUT);
      }
      default:
        return this.#abortReason;
    }
  }

  #rejection(detail: number, attempt: Attempt | undefined): unknown {
    switch (detail) {
      case REJECT_ATTEMPT:
        return attempt?.failure?.error;
      case REJECT_ATTEMPTS: {
        const failures = this.#attempts.flatMap(({ failure }) => (failure === undefined ? [] : [failure.error]));
        return new SourceAttemptsError(failures, this.#core.name);
      }
      case REJECT_TIMEOUT:
      case REJECT_DEADLINE:
        return this.#timeUp(detail);
      case REJECT_ABORTED:
        return this.#abortReason;
      default:
        return new BreakerOpenError(this.#core.name);
    }
  }

  /** The error of the operation's end, the same for its attempts and its caller. */
  #timeUp(detail: number): unknown {
    this.#expiry ??= this.#makeExpiry(detail);
    return this.#expiry;
  }

  #makeExpiry(detail: number): DeadlineExceededError {
    const { name } = this.#core;
    const { call, limitMs } = this.#input;
    if (detail === REJECT_DEADLINE && call?.deadline !== undefined) return exceeded(call.deadline, name);
    const made = this.#deadline?.of;
    if (made !== undefined && made !== call?.deadline) return exceeded(made, name);
    const limit = detail === REJECT_DEADLINE ? limitMs : this.#timeoutMs;
    return new DeadlineExceededError(limit ?? 0, name);
  }

  /** The operation's deadline as its attempts see it. */
  get deadline(): Deadline | undefined {
    this.#deadline ??= { of: this.#makeDeadline() };
    return this.#deadline.of;
  }

  #makeDeadline(): Deadline | undefined {
    const given = this.#input.call?.deadline;
    const own = Math.min(this.#timeoutMs ?? Number.POSITIVE_INFINITY, this.#input.limitMs ?? Number.POSITIVE_INFINITY);
    if (own === Number.POSITIVE_INFINITY) return given;
    const elapsed = this.#core.now() - this.#since;
    if (given !== undefined && given.remainingMs() <= own - elapsed) return given;
    return Deadline.on(this.#core.clock, own, this.#since);
  }
}

/** The error of a deadline that a call was given, of whatever copy of this package. */
function exceeded(deadline: Deadline, step: string): DeadlineExceededError {
  if (deadline instanceof Deadline) return deadline.exceededDuring(step);
  const { reason } = (deadline as Deadline).signal;
  return reason instanceof DeadlineExceededError ? reason : new DeadlineExceededError(0, step);
}
