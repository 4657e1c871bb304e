import type * as Binding from "../binding";
import { loadBinding } from "./load-binding";

const binding = loadBinding();

export type {
  CallConfig,
  ClientConfig,
  Failure,
  NativeClient,
  NativeEngine,
  PolicyLeaves,
  UseCaseCounters,
} from "../binding";

export const { Hub, RemoteKind, openPayload, sealPayload } = binding;
export type Hub = Binding.Hub;

/** Bits of a slot's or flight's number in a packed answer. */
export const NUMBER_BITS = binding.NUMBER_BITS;
/** The number in a packed answer; also what stands there when there is no slot. */
export const NUMBER = binding.NO_SLOT;
/** Three bits above the number. */
export const KIND = 7;

export const { FREED, TIMER, WRITE, JOINABLE, TRACE_BITS } = binding;

// Copies as plain constants: V8 folds them into the code of a lookup, a property of an object it reads each time.
export const JOIN = binding.Start.Join;
export const READ = binding.Start.Read;
export const READ_ELSEWHERE = binding.Start.ReadElsewhere;
export const READ_REFUSED = binding.Start.ReadRefused;
export const KEY_ERROR = binding.Start.KeyError;

export const LOAD = binding.Reply.Load;
export const MISS = binding.Reply.Miss;
export const FAILED = binding.Reply.Failed;
export const TIMED_OUT = binding.Reply.TimedOut;
export const STALE = binding.Reply.Stale;
export const WRITTEN = binding.Reply.Written;
export const WRITE_FAILED = binding.Reply.WriteFailed;

export const REFUSED_TIMED_OUT = binding.Refusal.TimedOut;
export const REFUSED_STALE = binding.Refusal.Stale;

export const DUE_LINGER = binding.DueKind.Linger;

export const LAYER_ABSENT = binding.Layer.Absent;
export const LAYER_HIT = binding.Layer.Hit;
export const LAYER_MISS = binding.Layer.Miss;
export const LAYER_POLICY_DISABLED = binding.Layer.PolicyDisabled;
export const LAYER_INVALID_TTL = binding.Layer.InvalidTtl;
export const LAYER_INVALID_RAMP = binding.Layer.InvalidRamp;
export const LAYER_RAMPED_DOWN = binding.Layer.RampedDown;
