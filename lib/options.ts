import { type DialCacheKeyConfig, type Leaves, toKeyConfig, toLeaves, validateDefaults } from "./config";
import { UseCaseNameIsReservedError } from "./errors";
import type { Logger } from "./logger";
import { type DialCacheMetricsAdapter, METRIC_HOOKS } from "./metrics";
import {
  boolean,
  callback,
  inside,
  integer,
  invalid,
  optionNames,
  type Place,
  readOptions,
  refuse,
} from "./option-reader";
import { type ResolvedRedis, resolveRedis, serializerOption, timeoutMs, undefinedOr } from "./redis-options";
import type { Serializer } from "./serializer";
import { isWellFormed } from "./text";
import type { CacheConfigProvider, LocalPolicy } from "./types";
import { refuseUnsupported } from "./unsupported";

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
  "readHedge",
  "shadowComparator",
] as const;
const CACHED = optionNames("cacheKey", ...USE_CASE);
const GET_OR_LOAD = optionNames("key", ...USE_CASE);

const NO_DEFAULTS = toLeaves({}, "defaultConfig");

/**
 * Options of `new DialCache()`.
 * @throws TypeError for an unknown name or a value of the wrong type, RangeError for a value out of range.
 */
export function resolveDialCacheOptions(input: unknown = {}): ResolvedDialCacheOptions {
  const place: Place = { api: "new DialCache()", path: "" };
  const options = readOptions(input, place, DIALCACHE);
  return {
    namespace: options.namespace === undefined ? "urn" : namespaceOption(options.namespace, place),
    redis: options.redis === undefined ? undefined : resolveRedis(options.redis, inside(place, "redis")),
    localMaxSize: integer(undefinedOr(options.localMaxSize, 10_000), place, "localMaxSize", { min: 0 }),
    localPolicy: options.localPolicy === undefined ? "lru" : localPolicyOption(options.localPolicy, place),
    cacheConfigProvider:
      options.cacheConfigProvider === undefined
        ? undefined
        : callback(options.cacheConfigProvider, place, "cacheConfigProvider"),
    metrics: options.metrics === undefined ? undefined : observer(options.metrics, place, "metrics", METRIC_HOOKS),
    logger:
      options.logger === undefined || options.logger === null
        ? options.logger
        : observer(options.logger, place, "logger", ["debug", "warn", "error"]),
    shadowMaxInFlight: integer(undefinedOr(options.shadowMaxInFlight, 1), place, "shadowMaxInFlight", { min: 1 }),
    localTimings: options.localTimings === undefined ? false : boolean(options.localTimings, place, "localTimings"),
  };
}

/**
 * Options of `cached()`, before the use case's name is taken.
 * @throws TypeError, RangeError, or UseCaseNameIsReservedError for the name `watermark`.
 */
export function resolveCachedOptions(input: unknown): ResolvedCachedOptions {
  const place: Place = { api: "cached()", path: "" };
  const options = readOptions(input, place, CACHED);
  const cacheKey = callback<(...args: never[]) => unknown>(options.cacheKey, place, "cacheKey");
  return { ...useCaseOptions(options, place), cacheKey };
}

const GET_OR_LOAD_PLACE: Place = { api: "getOrLoad()", path: "" };

/**
 * Options of `getOrLoad()`.
 * @throws TypeError, RangeError, or UseCaseNameIsReservedError for the name `watermark`.
 */
export function resolveGetOrLoadOptions(input: unknown): ResolvedGetOrLoadOptions {
  const place = GET_OR_LOAD_PLACE;
  const options = readOptions(input, place, GET_OR_LOAD);
  if (options.key === undefined && !("key" in (input as object))) {
    throw invalid(TypeError, place, "key", "key is required");
  }
  return { ...useCaseOptions(options, place), key: options.key };
}

function useCaseOptions(options: Record<(typeof USE_CASE)[number], unknown>, place: Place): ResolvedUseCase {
  const keyType = nameOption(options.keyType, place, "keyType");
  const useCase = nameOption(options.useCase, place, "useCase");
  if (!isWellFormed(useCase)) throw refuse(useCase, place, "useCase", "string", "well-formed text");
  if (useCase === "watermark") throw new UseCaseNameIsReservedError(useCase);
  if (options.readHedge !== undefined) refuseUnsupported(place, "readHedge");
  if (options.shadowComparator !== undefined) refuseUnsupported(place, "shadowComparator");

  const defaultConfig =
    options.defaultConfig === undefined
      ? null
      : defaultConfigOption(options.defaultConfig, inside(place, "defaultConfig"));
  const { serializer, trackForInvalidation, redisReadTimeoutMs, fallbackTimeoutMs } = options;
  const tracked = trackForInvalidation !== undefined && boolean(trackForInvalidation, place, "trackForInvalidation");
  if (tracked) refuseUnsupported(place, "trackForInvalidation");
  return {
    keyType,
    useCase,
    defaultConfig,
    defaults: defaultConfig === null ? NO_DEFAULTS : toLeaves(defaultConfig, "defaultConfig"),
    serializer: serializer === undefined ? undefined : serializerOption(serializer, place),
    trackForInvalidation: tracked,
    redisReadTimeoutMs:
      redisReadTimeoutMs === undefined ? undefined : timeoutMs(redisReadTimeoutMs, place, "redisReadTimeoutMs"),
    fallbackTimeoutMs:
      fallbackTimeoutMs === null
        ? undefined
        : timeoutMs(undefinedOr(fallbackTimeoutMs, 60_000), place, "fallbackTimeoutMs"),
  };
}

function defaultConfigOption(value: unknown, place: Place): DialCacheKeyConfig {
  const config = toKeyConfig(value, place);
  validateDefaults(config, place);
  if ((config.shadow?.ramp ?? 0) > 0) refuseUnsupported(inside(place, "shadow"), "ramp");
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

/** A logger or metrics adapter: it may have more than we call and lack some of it, but not everything. */
function observer<T>(value: unknown, place: Place, name: string, methods: readonly string[]): T {
  const usable = (typeof value === "object" && value !== null) || typeof value === "function";
  if (!usable) throw refuse(value, place, name, "object", `an object with ${methods.slice(0, 3).join(", ")}, ...`);
  const members = methods.map((method): [string, unknown] => [method, (value as Record<string, unknown>)[method]]);
  for (const [method, member] of members) {
    if (member === undefined || typeof member === "function") continue;
    const option = `${name}.${method}`;
    throw invalid(TypeError, place, option, `${option} must be a function`);
  }
  if (members.every(([, member]) => member === undefined)) {
    throw invalid(TypeError, place, name, `${name} has none of the methods ${methods.join(", ")}`);
  }
  return value as T;
}
