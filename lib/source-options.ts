import type { Deadline } from "./deadline";
import { type DialCacheMetricsAdapter, METRIC_HOOKS } from "./metrics";
import {
  abortSignal,
  boolean,
  callback,
  inside,
  integer,
  invalid,
  number,
  observer,
  oneOf,
  optionNames,
  type Place,
  readOptions,
  refuse,
  withMethods,
} from "./option-reader";
import { timeoutMs } from "./redis-options";
import type { SourceEvents, SourcePriority } from "./source-types";
import { FAIL_ON_STATUSES } from "./transient";

/** How a source hedges, as the engine takes it: what was not given is left out. */
export interface HedgeConfig {
  delayMs?: number;
  auto?: boolean;
  quantile?: number;
  windowMs?: number;
  minSamples?: number;
  minDelayMs?: number;
  initialDelayMs?: number;
  maxHedges?: number;
  cancelLoser?: boolean;
  ratio?: number;
  burst?: number;
  asksGate?: boolean;
  maxInFlight?: number;
}

export interface FailoverConfig {
  policy?: string;
  respectCircuitBreaker?: boolean;
}

export interface RetryConfig {
  maxAttempts?: number;
  baseDelayMs?: number;
  maxDelayMs?: number;
}

/** Which failures another attempt may not meet. */
export interface Transience {
  readonly failOnStatuses: ReadonlySet<number> | undefined;
  readonly isTransient: ((error: unknown) => boolean) | undefined;
}

/** Policies as they were named: numbers are checked by the engine, which knows the rules between them. */
export interface NamedPolicies extends Transience {
  readonly priority: SourcePriority | undefined;
  readonly timeoutMs: number | undefined;
  readonly hedge: HedgeConfig | false | undefined;
  readonly gate: (() => boolean) | undefined;
  readonly failover: FailoverConfig | false | undefined;
  readonly retry: RetryConfig | false | undefined;
}

/** Options of a source, read. */
export interface ResolvedSource extends NamedPolicies {
  readonly name: string;
  readonly idempotent: boolean;
  readonly breaker: boolean;
  readonly events: SourceEvents;
  readonly metrics: DialCacheMetricsAdapter | undefined;
}

/** Options of one call, read. */
export interface ResolvedExecute extends NamedPolicies {
  readonly signal: AbortSignal | undefined;
  readonly deadline: Deadline | undefined;
}

const POLICIES = ["priority", "timeoutMs", "hedge", "failover", "retry"] as const;
const EVENTS = ["onHedge", "onFailover", "onRetry", "onWinner"] as const;
/** Names of `source()`'s options. */
export const SOURCE_NAMES = ["name", "idempotent", "breaker", "metrics", ...POLICIES, ...EVENTS] as const;
const SOURCE = optionNames(...SOURCE_NAMES);
const EXECUTE = optionNames("signal", "deadline", ...POLICIES);
const HEDGE_NUMBERS = [
  "quantile",
  "windowMs",
  "minSamples",
  "minDelayMs",
  "initialDelayMs",
  "maxHedges",
  "maxInFlight",
] as const;
const HEDGE = optionNames("delayMs", "cancelLoser", "budget", "gate", ...HEDGE_NUMBERS);
const BUDGET = optionNames("ratio", "burst");
const FAILOVER = optionNames("policy", "failOnStatuses", "respectCircuitBreaker");
const RETRY_NUMBERS = ["maxAttempts", "baseDelayMs", "maxDelayMs"] as const;
const RETRY = optionNames("isTransient", ...RETRY_NUMBERS);
const BREAKER = optionNames();

const PRIORITIES = ["high", "normal", "low"] as const;
const FAILOVER_POLICIES = ["sequential", "round-robin", "random"] as const;

/** `failOnStatuses` where none is named. */
export const DEFAULT_STATUSES: ReadonlySet<number> = new Set(FAIL_ON_STATUSES);

/** Options of `source()`. @throws TypeError or RangeError naming the option. */
export function resolveSourceOptions(input: unknown, place: Place): ResolvedSource {
  return resolveSource(readOptions(input, place, SOURCE), place);
}

/** The options that every kind of source has. */
export function resolveSource(
  options: Readonly<Record<(typeof SOURCE_NAMES)[number], unknown>>,
  place: Place,
): ResolvedSource {
  const { name, idempotent, breaker, metrics } = options;
  if (typeof name !== "string" || name === "") throw refuse(name, place, "name", "string", "a non-empty string");
  return {
    name,
    idempotent: idempotent !== undefined && boolean(idempotent, place, "idempotent"),
    breaker: breakerOption(breaker, place),
    metrics: metrics === undefined ? undefined : observer(metrics, place, "metrics", METRIC_HOOKS),
    events: eventOptions(options, place),
    ...policies(options, place),
  };
}

const EXECUTE_PLACE: Place = { api: "execute()", path: "" };

/** Options of `execute()`. @throws TypeError or RangeError naming the option. */
export function resolveExecuteOptions(input: unknown): ResolvedExecute {
  const options = readOptions(input, EXECUTE_PLACE, EXECUTE);
  const { signal, deadline } = options;
  return {
    signal: signal === undefined ? undefined : abortSignal(signal, EXECUTE_PLACE, "signal"),
    deadline:
      deadline === undefined ? undefined : withMethods(deadline, EXECUTE_PLACE, "deadline", ["remainingMs", "run"]),
    ...policies(options, EXECUTE_PLACE),
  };
}

/** Name of a priority. */
export function priorityOption(value: unknown, place: Place): SourcePriority {
  return oneOf(value, place, "priority", PRIORITIES);
}

/** Statuses of answers that count as failures. */
export function statusesOption(value: unknown, place: Place): ReadonlySet<number> {
  if (!Array.isArray(value)) throw refuse(value, place, "failOnStatuses", "object", "an array of HTTP statuses");
  const statuses = value.map((status, at) => integer(status, place, `failOnStatuses[${at}]`, { min: 100, max: 599 }));
  return new Set(statuses);
}

function policies(options: Readonly<Record<(typeof POLICIES)[number], unknown>>, place: Place): NamedPolicies {
  const { priority, timeoutMs: timeout, hedge, failover, retry } = options;
  const hedging = policy(hedge, place, "hedge", hedgeOptions);
  const failingOver = policy(failover, place, "failover", failoverOptions);
  const retrying = policy(retry, place, "retry", retryOptions);
  return {
    priority: priority === undefined ? undefined : priorityOption(priority, place),
    timeoutMs: timeout === undefined ? undefined : timeoutMs(timeout, place, "timeoutMs"),
    hedge: hedging === false ? false : hedging?.config,
    gate: hedging === false ? undefined : hedging?.gate,
    failover: failingOver === false ? false : failingOver?.config,
    failOnStatuses: failingOver === false ? undefined : failingOver?.failOnStatuses,
    retry: retrying === false ? false : retrying?.config,
    isTransient: retrying === false ? undefined : retrying?.isTransient,
  };
}

function policy<T>(
  value: unknown,
  place: Place,
  name: string,
  read: (value: unknown, at: Place) => T,
): T | false | undefined {
  if (value === undefined || value === false) return value;
  return read(value, inside(place, name));
}

function hedgeOptions(input: unknown, at: Place): { config: HedgeConfig; gate: (() => boolean) | undefined } {
  const options = readOptions(input, at, HEDGE);
  const { delayMs, cancelLoser, budget, gate } = options;
  const config: HedgeConfig = numbers(options, at, HEDGE_NUMBERS);
  if (delayMs === "auto") config.auto = true;
  else if (delayMs !== undefined) config.delayMs = delayOption(delayMs, at);
  if (cancelLoser !== undefined) config.cancelLoser = boolean(cancelLoser, at, "cancelLoser");
  if (budget !== undefined) {
    const place = inside(at, "budget");
    Object.assign(config, numbers(readOptions(budget, place, BUDGET), place, ["ratio", "burst"]));
  }
  if (gate === undefined) return { config, gate: undefined };
  config.asksGate = true;
  return { config, gate: callback(gate, at, "gate") };
}

function delayOption(value: unknown, at: Place): number {
  if (typeof value === "number") return value;
  throw refuse(value, at, "delayMs", "string", 'a number of milliseconds or "auto"');
}

function failoverOptions(
  input: unknown,
  at: Place,
): { config: FailoverConfig; failOnStatuses: ReadonlySet<number> | undefined } {
  const { policy: name, failOnStatuses, respectCircuitBreaker } = readOptions(input, at, FAILOVER);
  const config: FailoverConfig = {};
  if (name !== undefined) config.policy = oneOf(name, at, "policy", FAILOVER_POLICIES);
  if (respectCircuitBreaker !== undefined) {
    config.respectCircuitBreaker = boolean(respectCircuitBreaker, at, "respectCircuitBreaker");
  }
  return { config, failOnStatuses: failOnStatuses === undefined ? undefined : statusesOption(failOnStatuses, at) };
}

function retryOptions(
  input: unknown,
  at: Place,
): { config: RetryConfig; isTransient: ((error: unknown) => boolean) | undefined } {
  const options = readOptions(input, at, RETRY);
  const { isTransient } = options;
  return {
    config: numbers(options, at, RETRY_NUMBERS),
    isTransient: isTransient === undefined ? undefined : callback(isTransient, at, "isTransient"),
  };
}

function breakerOption(value: unknown, place: Place): boolean {
  if (value === undefined || value === false) return false;
  const at = inside(place, "breaker");
  if (typeof value === "object" && value !== null && Object.keys(value).length > 0) {
    const option = at.path + Object.keys(value)[0];
    throw invalid(TypeError, place, option, `unknown option ${JSON.stringify(option)}; a breaker has no options`);
  }
  readOptions(value, at, BREAKER);
  return true;
}

function eventOptions(options: Readonly<Record<(typeof EVENTS)[number], unknown>>, place: Place): SourceEvents {
  const events: Record<string, unknown> = {};
  for (const event of EVENTS) {
    const listener = options[event];
    if (listener !== undefined) events[event] = callback(listener, place, event);
  }
  return events;
}

function numbers<Name extends string>(
  options: Readonly<Record<Name, unknown>>,
  at: Place,
  names: readonly Name[],
): Partial<Record<Name, number>> {
  const given: Partial<Record<Name, number>> = {};
  for (const name of names) {
    const value = options[name];
    if (value !== undefined) given[name] = number(value, at, name);
  }
  return given;
}
