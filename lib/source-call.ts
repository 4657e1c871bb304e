import { invalid, type Place } from "./option-reader";
import { coreOf } from "./source";
import type { SourceCore } from "./source-core";
import type { SourceOperation } from "./source-operation";
import { resolveExecuteOptions } from "./source-options";
import type { SourcePriority } from "./source-types";
import type { AnyFunction } from "./types";

/** A source that stands in place of a plain function, as a use case calls it. */
export interface SourceCall {
  readonly core: SourceCore;
  /** Begins a call whose result nobody waits for after `limitMs` milliseconds. */
  begin(args: readonly unknown[], limitMs: number | undefined): SourceOperation;
}

const calls = new WeakMap<object, SourceCall>();

/**
 * The function that a use case calls: `fn` itself, or, when that is a source, one that has the use case's priority and is
 * known to {@link sourceCallOf}.
 * @throws TypeError for a priority without a source.
 */
export function callableOf(fn: AnyFunction, priority: SourcePriority | undefined, place: Place): AnyFunction {
  const core = coreOf(fn);
  if (core === undefined) {
    if (priority === undefined) return fn;
    throw invalid(TypeError, place, "priority", "priority needs a source in place of the function");
  }
  const call = priority === undefined ? undefined : resolveExecuteOptions({ priority });
  const begin = (args: readonly unknown[], limitMs: number | undefined): SourceOperation =>
    core.run({ args, call, limitMs });
  const callable = (...args: unknown[]): Promise<unknown> => begin(args, undefined).promise;
  calls.set(callable, { core, begin });
  return callable;
}

/** The source behind a function made by {@link callableOf}. */
export function sourceCallOf(fn: AnyFunction): SourceCall | undefined {
  return calls.get(fn);
}
