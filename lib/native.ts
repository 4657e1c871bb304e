import type * as Binding from "../binding";
import { loadBinding } from "./load-binding";

const binding = loadBinding();

export type {
  CallConfig,
  ClientConfig,
  CounterReader,
  Failure,
  NativeClient,
  NativeEngine,
  Passage,
  PassedPayload,
  PoliciesConfig,
  PolicyLeaves,
  ShadowFacts,
  SourceEvent,
  SourceGauges,
} from "../binding";

export const {
  Hub,
  NativeSource,
  Passed,
  RemoteKind,
  openedBytes,
  openPayload,
  sealPayload,
  STAMP_SCRIPT,
  INVALIDATE_SCRIPT,
} = binding;
export type Hub = Binding.Hub;
export type NativeSource = Binding.NativeSource;
/** Names of the counters that a `CounterReader` reads of each use case, in their order. */
export const COUNTER_COLUMNS: readonly string[] = binding.CounterReader.columns();

/** The functions that tell an engine the steps of its leaders' calls: see `Step` in the binding. */
export interface Steps {
  readonly readSettled: (flight: number, result: number) => number;
  readonly loadFailed: (flight: number) => number;
  readonly loaded: (flight: number) => number;
  /** Answers 1 when the timer must be set anew. */
  readonly sourceStarted: (flight: number) => number;
  readonly sourceSettled: (flight: number, ok: 0 | 1) => number;
  readonly dumpFailed: (flight: number) => number;
  readonly writeSettled: (flight: number, result: number) => number;
  /** Answers 1 when the timer must be set anew. */
  readonly timerChanged: () => number;
  /** Answers 1 while the flight's read is pending. */
  readonly reading: (flight: number) => number;
  readonly opened: (flight: number, passed: number) => number;
  readonly sealed: (flight: number, passed: number) => number;
}

export function stepsOf(engine: Binding.NativeEngine): Steps {
  const { Step } = binding;
  return {
    readSettled: engine.stepFunction(Step.ReadSettled),
    loadFailed: engine.stepFunction(Step.LoadFailed),
    loaded: engine.stepFunction(Step.Loaded),
    sourceStarted: engine.stepFunction(Step.SourceStarted),
    sourceSettled: engine.stepFunction(Step.SourceSettled),
    dumpFailed: engine.stepFunction(Step.DumpFailed),
    writeSettled: engine.stepFunction(Step.WriteSettled),
    timerChanged: engine.stepFunction(Step.TimerChanged) as () => number,
    reading: engine.stepFunction(Step.Reading),
    opened: engine.stepFunction(Step.Opened) as Steps["opened"],
    sealed: engine.stepFunction(Step.Sealed) as Steps["sealed"],
  };
}

/** Bits of a slot's or flight's number in a packed answer. */
export const NUMBER_BITS = binding.NUMBER_BITS;
/** The number in a packed answer; also what stands there when there is no slot. */
export const NUMBER = binding.NO_SLOT;
/** Three bits above the number. */
export const KIND = 7;

export const { FREED, TIMER, WRITE, JOINABLE, TRACE_BITS, MOST_LOCAL_ENTRIES } = binding;

// Copies as plain constants: V8 folds them into the code of a lookup, a property of an object it reads each time.
export const JOIN = binding.Start.Join;
export const READ = binding.Start.Read;
export const READ_ELSEWHERE = binding.Start.ReadElsewhere;
export const SOURCE = binding.Start.Source;
export const READ_REFUSED = binding.Start.ReadRefused;
export const KEY_ERROR = binding.Start.KeyError;

export const LOAD = binding.Reply.Load;
export const MISS = binding.Reply.Miss;
export const FAILED = binding.Reply.Failed;
export const TIMED_OUT = binding.Reply.TimedOut;
export const STALE = binding.Reply.Stale;
export const WRITTEN = binding.Reply.Written;
export const WRITE_FAILED = binding.Reply.WriteFailed;
export const WRITE_BACK = binding.Reply.WriteBack;
export const OVER = binding.Reply.Over;
export const HEDGE = binding.Reply.Hedge;
export const HEDGE_DENIED = binding.Reply.HedgeDenied;
export const PASSAGE = binding.Reply.Passage;
export const FENCED = binding.Reply.Fenced;

export const REFUSED_FAILED = binding.Refusal.Failed;
export const REFUSED_TIMED_OUT = binding.Refusal.TimedOut;
export const REFUSED_STALE = binding.Refusal.Stale;
export const REFUSED_AWAIT_READ = binding.Refusal.AwaitRead;
export const REFUSED_TIMED_OUT_AWAIT_READ = binding.Refusal.TimedOutAwaitRead;

export const DUE_READ = binding.DueKind.Read;
export const DUE_READ_OVER = binding.DueKind.ReadOver;
export const DUE_SOURCE = binding.DueKind.Source;
export const DUE_SOURCE_AWAIT_READ = binding.DueKind.SourceAwaitRead;
export const DUE_LINGER = binding.DueKind.Linger;
export const DUE_HEDGE = binding.DueKind.Hedge;
export const DUE_HEDGE_DENIED = binding.DueKind.HedgeDenied;
export const DUE_SHADOW = binding.DueKind.Shadow;

export const { ShadowEvent, ShadowNext } = binding;
export type ShadowEvent = Binding.ShadowEvent;
/** Labels of a shadow job's outcomes, by what its last answer is above `ShadowNext.Done`. */
export const SHADOW_OUTCOMES: readonly string[] = binding.shadowOutcomes();
/** Whether a leader is shadowed, and when. */
export const UNSHADOWED = binding.ShadowSample.No;
export const INVALID_SHADOW_RAMP = binding.ShadowSample.InvalidRamp;
export const SHADOWED_WHEN_SERVED = binding.ShadowSample.WhenServed;
export const SHADOWED_BESIDE_SOURCE = binding.ShadowSample.BesideSource;
export const SHADOW_DROPPED = binding.ShadowRefusal.Dropped;

export const LAYER_ABSENT = binding.Layer.Absent;
export const LAYER_HIT = binding.Layer.Hit;
export const LAYER_MISS = binding.Layer.Miss;
export const LAYER_POLICY_DISABLED = binding.Layer.PolicyDisabled;
export const LAYER_INVALID_TTL = binding.Layer.InvalidTtl;
export const LAYER_INVALID_RAMP = binding.Layer.InvalidRamp;
export const LAYER_RAMPED_DOWN = binding.Layer.RampedDown;

/** The functions that tell a source what happened, and take its steps: see `SourceStep` in the binding. */
export interface SourceSteps {
  readonly start: (plan: number, leftMs: number) => number;
  readonly settled: (slot: number, attemptAndOutcome: number) => void;
  readonly gate: (slot: number, allowed: 0 | 1) => void;
  readonly abort: (slot: number, tooLate: 0 | 1) => void;
  readonly advance: () => void;
  /** Takes the next step: an action, and its detail above {@link ACTION_BITS}; 0 when there is none. */
  readonly next: () => number;
  readonly slot: () => number;
  readonly attempt: () => number;
  readonly endpoint: () => number;
  /** Answers 1 when the timer must be set anew. */
  readonly timerChanged: () => number;
}

export function sourceStepsOf(source: NativeSource): SourceSteps {
  const { SourceStep } = binding;
  return {
    start: source.stepFunction(SourceStep.Start),
    settled: source.stepFunction(SourceStep.Settled),
    gate: source.stepFunction(SourceStep.Gate),
    abort: source.stepFunction(SourceStep.Abort),
    advance: source.stepFunction(SourceStep.Advance),
    next: source.stepFunction(SourceStep.Next),
    slot: source.stepFunction(SourceStep.Slot),
    attempt: source.stepFunction(SourceStep.Attempt),
    endpoint: source.stepFunction(SourceStep.Endpoint),
    timerChanged: source.stepFunction(SourceStep.TimerChanged),
  };
}

export const ACTION_BITS = binding.SOURCE_ACTION_BITS;
export const ACTION_START = binding.SourceAction.Start;
export const ACTION_ASK_GATE = binding.SourceAction.AskGate;
export const ACTION_CANCEL = binding.SourceAction.Cancel;
export const ACTION_RESOLVE = binding.SourceAction.Resolve;
export const ACTION_REJECT = binding.SourceAction.Reject;
export const ACTION_TELL = binding.SourceAction.Tell;

export const CANCEL_LOST = binding.SourceCancel.Lost;
export const CANCEL_SIBLING_FAILED = binding.SourceCancel.SiblingFailed;
export const CANCEL_DEADLINE = binding.SourceCancel.Deadline;

export const REJECT_ATTEMPT = binding.SourceRejection.Attempt;
export const REJECT_ATTEMPTS = binding.SourceRejection.Attempts;
export const REJECT_TIMEOUT = binding.SourceRejection.Timeout;
export const REJECT_DEADLINE = binding.SourceRejection.Deadline;
export const REJECT_ABORTED = binding.SourceRejection.Aborted;

/** Names of what `NativeSource.counters()` answers, in its order. */
export const SOURCE_COUNTERS: readonly (readonly string[])[] = binding.NativeSource.counterNames();
