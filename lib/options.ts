import { type DialCacheKeyConfig, isValidated, type Leaves, toKeyConfig, toLeaves, validateDefaults } from "./config";
import { UseCaseNameIsReservedError } from "./errors";
import type { Logger } from "./logger";
import { type DialCacheMetricsAdapter, METRIC_HOOKS } from "./metrics";
import { MOST_LOCAL_ENTRIES } from "./native";
import {
  boolean,
  callback,
  inside,
  integer,
  invalid,
  observer,
  optionNames,
  type Place,
  readOptions,
  refuse,
  undefinedOr,
} from "./option-reader";
import { type ResolvedRedis, resolveRedis, serializerOption, timeoutMs } from "./redis-options";
import type { Serializer } from "./serializer";
import { priorityOption } from "./source-options";
import type { SourcePriority } from "./source-types";
import { isWellFormed } from "./text";
import type { CacheConfigProvider, LocalPolicy } from "./types";

export {
  type ResolvedCompression,
  type ResolvedRedis,
  type ResolvedRedisClientOptions,
  type ResolvedTls,
  resolveRedisClientOptions,
} from "./redis-options";

/** Options of `new DialCache()`, checked, with their defaults. */
export interface ResolvedDialCacheOptions {
  readonly namespace: string;
  readonly redis: ResolvedRedis | undefined;
  readonly localMaxSize: number;
  readonly localPolicy: LocalPolicy;
  readonly cacheConfigProvider: CacheConfigProvider | undefined;
  readonly metrics: DialCacheMetricsAdapter | undefined;
  /** Undefined is `console`, null is silence; see `guardLogger`. */
  readonly logger: Logger | null | undefined;
  readonly shadowMaxInFlight: number;
  readonly localTimings: boolean;
}

/** What `cached()` and `getOrLoad()` have in common, checked, with its defaults. */
export interface ResolvedUseCase {
  /** Not necessarily well-formed text: that is a key error of each call. */
  readonly keyType: string;
  readonly useCase: string;
  readonly defaultConfig: DialCacheKeyConfig | null;
  /** Leaves of `defaultConfig`, valid. */
  readonly defaults: Leaves;
  readonly serializer: Serializer<unknown> | undefined;
  readonly trackForInvalidation: boolean;
  /** Undefined: the instance's. */
  readonly redisReadTimeoutMs: number | undefined;
  /** Undefined: no deadline. */
  readonly fallbackTimeoutMs: number | undefined;
  /** Undefined: deep equality. */
  readonly shadowComparator: ((cached: unknown, source: unknown) => unknown) | undefined;
  /** Milliseconds, or 0 for `"auto"`; undefined: reads are not hedged. */
  readonly readHedgeMs: number | undefined;
  /** Of a source that stands in place of the function. */
  readonly priority: SourcePriority | undefined;
}

export interface ResolvedCachedOptions extends ResolvedUseCase {
  readonly cacheKey: (...args: never[]) => unknown;
}

export interface ResolvedGetOrLoadOptions extends ResolvedUseCase {
  /** As given: a bad key is an error of the call's cache part, not of its options. */
  readonly key: unknown;
}

const DIALCACHE = optionNames(
  "namespace",
  "redis",
  "localMaxSize",
  "localPolicy",
  "cacheConfigProvider",
  "metrics",
  "logger",
  "shadowMaxInFlight",
  "localTimings",
);
const USE_CASE = [
  "keyType",
  "useCase",
  "defaultConfig",
  "serializer",
  "trackForInvalidation",
  "redisReadTimeoutMs",
  "fallbackTimeoutMs",
  "priority",
  "readHedge",
  "shadowComparator",
] as const;
const CACHED = optionNames("cacheKey", ...USE_CASE);
const GET_OR_LOAD = optionNames("key", ...USE_CASE);

const READ_HEDGE = optionNames("delayMs");

const NO_DEFAULTS = toLeaves({}, "defaultConfig");

/**
 * Options of `new DialCache()`.
 * @throws TypeError for an unknown name or a value of the wrong type, RangeError for a value out of range.
 */
export function resolveDialCacheOptions(input: unknown = {}): ResolvedDialCacheOptions {
  const place: Place = { api: "new DialCache()", path: "" };
  const options = readOptions(input, place, DIALCACHE);
  const { namespace, redis, localMaxSize, localPolicy, cacheConfigProvider } = options;
  const { metrics, logger, shadowMaxInFlight, localTimings } = options;
  return {
    namespace: namespace === undefined ? "urn" : namespaceOption(namespace, place),
    redis: redis === undefined ? undefined : resolveRedis(redis, inside(place, "redis")),
    localMaxSize: integer(undefinedOr(localMaxSize, 10_000), place, "localMaxSize", {
      min: 0,
      max: MOST_LOCAL_ENTRIES,
    }),
    localPolicy: localPolicy === undefined ? "lru" : localPolicyOption(localPolicy, place),
    cacheConfigProvider:
      cacheConfigProvider === undefined ? undefined : callback(cacheConfigProvider, place, "cacheConfigProvider"),
    metrics: metrics === undefined ? undefined : observer(metrics, place, "metrics", METRIC_HOOKS),
    logger:
      logger === undefined || logger === null ? logger : observer(logger, place, "logger", ["debug", "warn", "error"]),
    shadowMaxInFlight: integer(undefinedOr(shadowMaxInFlight, 1), place, "shadowMaxInFlight", { min: 1 }),
    localTimings: localTimings !== undefined && boolean(localTimings, place, "localTimings"),
  };
}

/** Where `cached()`'s options stand. */
export const CACHED_PLACE: Place = { api: "cached()", path: "" };
/** Where `getOrLoad()`'s options stand. */
export const GET_OR_LOAD_PLACE: Place = { api: "getOrLoad()", path: "" };

/**
 * Options of `cached()`, before the use case's name is taken.
 * @param readTimeoutMs - The instance's read deadline, if it has a Redis layer.
 * @throws TypeError, RangeError, or UseCaseNameIsReservedError for the name `watermark`.
 */
export function resolveCachedOptions(input: unknown, readTimeoutMs?: number): ResolvedCachedOptions {
  const options = readOptions(input, CACHED_PLACE, CACHED);
  const { cacheKey } = options;
  return {
    ...resolveUseCase(options, CACHED_PLACE, readTimeoutMs),
    cacheKey: callback(cacheKey, CACHED_PLACE, "cacheKey"),
  };
}

/**
 * Options of `getOrLoad()`.
 * @param readTimeoutMs - The instance's read deadline, if it has a Redis layer.
 * @throws TypeError, RangeError, or UseCaseNameIsReservedError for the name `watermark`.
 */
export function resolveGetOrLoadOptions(input: unknown, readTimeoutMs?: number): ResolvedGetOrLoadOptions {
  const options = readOptions(input, GET_OR_LOAD_PLACE, GET_OR_LOAD);
  const { key } = options;
  if (key === undefined && !("key" in options)) throw invalid(TypeError, GET_OR_LOAD_PLACE, "key", "key is required");
  // Completed in place: this runs on every call, where a copy would cost as much as all the checks.
  const resolved: ResolvedUseCase & { key?: unknown } = resolveUseCase(options, GET_OR_LOAD_PLACE, readTimeoutMs);
  resolved.key = key;
  return resolved as ResolvedGetOrLoadOptions;
}

function resolveUseCase(
  options: Readonly<Record<(typeof USE_CASE)[number], unknown>>,
  place: Place,
  instanceTimeoutMs: number | undefined,
): ResolvedUseCase {
  const { keyType, useCase, defaultConfig, serializer, trackForInvalidation } = options;
  const { redisReadTimeoutMs, fallbackTimeoutMs, priority, readHedge, shadowComparator } = options;
  // Null as in DialCache, where a key carries it: none given.
  const readTimeoutMs =
    redisReadTimeoutMs === undefined ? undefined : timeoutMs(redisReadTimeoutMs, place, "redisReadTimeoutMs");
  const config = isGiven(defaultConfig) ? defaultConfigOption(defaultConfig, place) : null;
  const tracked = trackForInvalidation !== undefined && boolean(trackForInvalidation, place, "trackForInvalidation");
  return {
    keyType: keyTypeOption(keyType, place, tracked),
    useCase: useCaseOption(useCase, place),
    defaultConfig: config,
    defaults: config === null ? NO_DEFAULTS : toLeaves(config, "defaultConfig"),
    serializer: isGiven(serializer) ? serializerOption(serializer, place) : undefined,
    trackForInvalidation: tracked,
    redisReadTimeoutMs: readTimeoutMs,
    fallbackTimeoutMs:
      fallbackTimeoutMs === null
        ? undefined
        : timeoutMs(undefinedOr(fallbackTimeoutMs, 60_000), place, "fallbackTimeoutMs"),
    shadowComparator:
      shadowComparator === undefined ? undefined : callback(shadowComparator, place, "shadowComparator"),
    readHedgeMs:
      readHedge === undefined
        ? undefined
        : readHedgeOption(readHedge, inside(place, "readHedge"), readTimeoutMs ?? instanceTimeoutMs),
    priority: priority === undefined ? undefined : priorityOption(priority, place),
  };
}

function readHedgeOption(value: unknown, place: Place, readTimeoutMs: number | undefined): number {
  const { delayMs } = readOptions(value, place, READ_HEDGE);
  if (delayMs === "auto") return 0;
  if (typeof delayMs !== "number" || !(delayMs > 0 && Number.isFinite(delayMs))) {
    throw refuse(delayMs, place, "delayMs", "number", '"auto" or a number of milliseconds above 0');
  }
  if (delayMs < (readTimeoutMs ?? Number.POSITIVE_INFINITY)) return delayMs;
  throw refuse(delayMs, place, "delayMs", "number", `below the read deadline of ${readTimeoutMs} milliseconds`);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function keyTypeOption(value: unknown, place: Place, tracked: boolean): string {
  const keyType = nameOption(value, place, "keyType");
  if (tracked && /[{}]/.test(keyType)) {
    throw refuse(keyType, place, "keyType", "string", "text without { and } with trackForInvalidation");
  }
  return keyType;
}

function useCaseOption(value: unknown, place: Place): string {
  const useCase = nameOption(value, place, "useCase");
  if (useCase === "watermark") throw new UseCaseNameIsReservedError(useCase);
  if (!isWellFormed(useCase)) throw refuse(useCase, place, "useCase", "string", "well-formed text");
  return useCase;
}

function defaultConfigOption(value: unknown, place: Place): DialCacheKeyConfig {
  if (isValidated(value)) return value;
  const at = inside(place, "defaultConfig");
  const config = toKeyConfig(value, at);
  validateDefaults(config, at);
  return config;
}

function nameOption(value: unknown, place: Place, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw refuse(value, place, name, "string", "a non-empty string");
}

function namespaceOption(value: unknown, place: Place): string {
  const namespace = nameOption(value, place, "namespace");
  if (isWellFormed(namespace) && !/[{}]/.test(namespace)) return namespace;
  throw refuse(namespace, place, "namespace", "string", "well-formed text without { and }");
}

function localPolicyOption(value: unknown, place: Place): LocalPolicy {
  if (value === "lru" || value === "tinyLfu") return value;
  throw refuse(value, place, "localPolicy", "string", '"lru" or "tinyLfu"');
}
