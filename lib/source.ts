import { invalid, type Place, refuse } from "./option-reader";
import { SourceCore } from "./source-core";
import { resolveExecuteOptions, resolveSourceOptions } from "./source-options";
import { sourceStats } from "./source-stats";
import type { ExecuteOptions, Source, SourceFunction, SourceOptions } from "./source-types";

const PLACE: Place = { api: "source()", path: "" };

/** By the function that stands for each source. */
const cores = new WeakMap<object, SourceCore>();

/**
 * Makes a function of one or several, the endpoints: a call of it is answered by the first usable result. The order of
 * the endpoints is preference. Every policy is off until it is named; those that may call more than once (`hedge`,
 * `failover`, `retry`) need `idempotent: true`.
 * @throws TypeError or RangeError naming a bad option.
 */
// biome-ignore lint/suspicious/noExplicitAny: as for SourceFunction
export function source<Args extends any[], T>(
  functions: SourceFunction<Args, T> | readonly SourceFunction<Args, T>[],
  options: SourceOptions,
): Source<Args, T> {
  const resolved = resolveSourceOptions(options, PLACE);
  return sourceOf(new SourceCore(endpoints(functions), resolved, PLACE));
}

/** The function that stands for a source. */
// biome-ignore lint/suspicious/noExplicitAny: as for SourceFunction
export function sourceOf<Args extends any[], T>(core: SourceCore): Source<Args, T> {
  const source = (...args: unknown[]): Promise<unknown> => begin(core, args, undefined);
  const execute = (options: ExecuteOptions, ...args: unknown[]): Promise<unknown> => begin(core, args, options);
  Object.defineProperty(source, "name", { value: core.name });
  Object.assign(source, { execute, stats: () => sourceStats(core) });
  cores.set(source, core);
  return source as unknown as Source<Args, T>;
}

/** The source that a function stands for, if it does. */
export function coreOf(fn: object): SourceCore | undefined {
  return cores.get(fn);
}

function begin(core: SourceCore, args: unknown[], options: ExecuteOptions | undefined): Promise<unknown> {
  try {
    const call = options === undefined ? undefined : resolveExecuteOptions(options);
    return core.run({ args, call, limitMs: undefined }).promise;
  } catch (error) {
    return Promise.reject(error);
  }
}

function endpoints(functions: unknown): ((...args: never[]) => unknown)[] {
  const list: unknown[] = Array.isArray(functions) ? [...functions] : [functions];
  if (list.length === 0) throw invalid(RangeError, PLACE, "functions", "functions must have at least one, got none");
  for (const [at, fn] of list.entries()) {
    if (typeof fn === "function") continue;
    const option = Array.isArray(functions) ? `functions[${at}]` : "functions";
    throw refuse(fn, PLACE, option, "function", "a function, or an array of some");
  }
  return list as ((...args: never[]) => unknown)[];
}
