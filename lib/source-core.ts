import { Alarm } from "./alarm";
import { type Clock, installedClock } from "./clock";
import type { DialCacheMetricsAdapter, GuardedMetrics } from "./metrics";
import {
  ACTION_BITS,
  ACTION_START,
  ACTION_TELL,
  NativeSource,
  type PoliciesConfig,
  type SourceSteps,
  sourceStepsOf,
} from "./native";
import { connectSource } from "./observers";
import { invalid, type Place } from "./option-reader";
import { SourceFigures } from "./source-figures";
import { type OperationInput, SourceOperation } from "./source-operation";
import type { NamedPolicies, ResolvedExecute, ResolvedSource } from "./source-options";
import type { SourcePriority } from "./source-types";

/** What a kind of source knows of its results. */
export interface Inspector {
  /** Error in place of a result that is a failure. */
  refusal(value: unknown, endpoint: number, failOnStatuses: ReadonlySet<number>): unknown;
  /** Nobody gets this result. */
  discard(value: unknown): void;
}

/** Numbers of the plans that calls without options of their own have. */
const PLANS: Readonly<Record<SourcePriority, number>> = { high: 1, normal: 2, low: 3 };
const ACTION = (1 << ACTION_BITS) - 1;

/** One source: its functions, its engine, and its calls under way. */
export class SourceCore {
  readonly name: string;
  readonly fns: readonly ((...args: never[]) => unknown)[];
  readonly options: ResolvedSource;
  readonly inspector: Inspector | undefined;
  readonly clock: Clock | undefined = installedClock();
  readonly native: NativeSource;
  readonly steps: SourceSteps;
  /** Calls by slot. */
  readonly #operations: (SourceOperation | undefined)[] = [];
  /** Milliseconds that calls of each plan may take; 0 is for ever. */
  readonly #timeouts: readonly number[];
  readonly #alarm: Alarm;
  readonly #listened: boolean;
  readonly figures: SourceFigures;
  /** Adapters that are told each event. */
  readonly #told = new Map<DialCacheMetricsAdapter, GuardedMetrics>();
  /** Calls that wait for their result. */
  #unanswered = 0;

  /** @throws RangeError for options that do not go together. */
  constructor(
    fns: readonly ((...args: never[]) => unknown)[],
    options: ResolvedSource,
    place: Place,
    inspector?: Inspector,
  ) {
    this.name = options.name;
    this.fns = fns;
    this.options = options;
    this.inspector = inspector;
    this.#listened = Object.keys(options.events).length > 0;
    const { idempotent, breaker } = options;
    const policies = policiesOf(options);
    const config = { endpoints: fns.length, idempotent, breaker, policies, seed: Math.random() };
    this.native = checked(place, () => new NativeSource({ ...config, installedClock: this.clock !== undefined }));
    this.steps = sourceStepsOf(this.native);
    this.#timeouts = this.native.timeouts();
    this.#alarm = new Alarm(this.clock, () => this.#due(), true);
    this.figures = new SourceFigures(this.name, this.native, options.hedge !== undefined && options.hedge !== false);
    this.connect(options.metrics);
  }

  /** Begins a call. @throws RangeError when its options and the source's do not go together. */
  run(input: OperationInput): SourceOperation {
    const operation = new SourceOperation(this, input);
    operation.start();
    return operation;
  }

  /** Monotonic milliseconds. */
  now(): number {
    return this.#alarm.now();
  }

  /** Has the engine begin a call. Its steps are to be taken next. */
  begin(
    operation: SourceOperation,
    call: ResolvedExecute | undefined,
    leftMs: number | undefined,
  ): { slot: number; timeoutMs: number | undefined } {
    const begun =
      isPlanned(call) && (leftMs === undefined || Number.isInteger(leftMs))
        ? this.#beginPlanned(call?.priority, leftMs ?? 0)
        : this.#beginWith(call, leftMs);
    this.#operations[begun.slot] = operation;
    this.#unanswered += 1;
    return begun;
  }

  /** Tells the engine something and hands its steps to the calls they are for. Runs no user code. */
  tell(tell: () => void): void {
    if (this.clock !== undefined) this.native.setNow(this.clock.now());
    tell();
    const { next, slot, attempt, endpoint, timerChanged } = this.steps;
    for (let packed = next(); packed !== 0; packed = next()) {
      const action = packed & ACTION;
      const event = action === ACTION_TELL && this.#listened ? this.native.event() : undefined;
      if (action === ACTION_TELL && event === undefined) continue;
      const at = action === ACTION_START ? endpoint() : 0;
      this.#operations[slot()]?.take(action, packed >> ACTION_BITS, attempt(), at, event ?? undefined);
    }
    if (timerChanged() !== 0) this.#setAlarm();
    this.#alarm.reference(this.#unanswered > 0);
  }

  /** A call has its result. */
  answered(): void {
    this.#unanswered -= 1;
  }

  /** The engine has forgotten a call. Its slot may be another's already. */
  forget(slot: number, operation: SourceOperation): void {
    if (this.#operations[slot] === operation) this.#operations[slot] = undefined;
  }

  /** Counts for `adapter` too. */
  connect(adapter: DialCacheMetricsAdapter | undefined): void {
    if (adapter === undefined || this.#told.has(adapter)) return;
    const told = connectSource(adapter, this.figures, this);
    if (told !== undefined) this.#told.set(adapter, told);
  }

  /** Tells adapters that want each event what has happened. To be called where user code may run. */
  report(): void {
    if (this.#told.size === 0) return;
    this.figures.grown(({ hook, labels }) => {
      for (const metrics of this.#told.values()) (metrics[hook] as (labels: unknown) => void)(labels);
    });
  }

  #beginPlanned(priority: SourcePriority | undefined, leftMs: number): { slot: number; timeoutMs: number | undefined } {
    const plan = priority === undefined ? 0 : PLANS[priority];
    const timeoutMs = this.#timeouts[plan];
    return { slot: this.steps.start(plan, leftMs), timeoutMs: timeoutMs === 0 ? undefined : timeoutMs };
  }

  #beginWith(
    call: ResolvedExecute | undefined,
    leftMs: number | undefined,
  ): { slot: number; timeoutMs: number | undefined } {
    const policies = call === undefined ? {} : policiesOf(call);
    const { slot, timeoutMs } = checked(EXECUTE, () => this.native.startWith(policies, leftMs));
    return { slot, timeoutMs: timeoutMs ?? undefined };
  }

  #setAlarm(): void {
    const delay = this.native.timerDelayMs() ?? undefined;
    if (delay !== undefined) this.#alarm.set(this.#alarm.now() + delay, this.#unanswered > 0);
  }

  #due(): void {
    this.tell(this.steps.advance);
  }
}

const EXECUTE: Place = { api: "execute()", path: "" };

/** Whether a call names nothing but, perhaps, a priority. */
function isPlanned(call: ResolvedExecute | undefined): boolean {
  return (
    call === undefined ||
    (call.timeoutMs === undefined &&
      call.hedge === undefined &&
      call.failover === undefined &&
      call.retry === undefined)
  );
}

function policiesOf({ priority, timeoutMs, hedge, failover, retry }: NamedPolicies): PoliciesConfig {
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(hedge === undefined ? {} : hedge === false ? { noHedge: true } : { hedge }),
    ...(failover === undefined ? {} : failover === false ? { noFailover: true } : { failover }),
    ...(retry === undefined ? {} : retry === false ? { noRetry: true } : { retry }),
  };
}

/** The engine's words about an option, which begin with its name, as an error like those of all options. */
function checked<T>(place: Place, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code !== "InvalidArg") throw error;
    throw invalid(RangeError, place, message.split(" ", 1)[0] as string, message);
  }
}
