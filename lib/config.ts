import { boolean, inside, invalid, optionNames, type Place, readOptions, refuse } from "./option-reader";

/** The shared layers a policy can be given for. */
export const CacheLayer = Object.freeze({ LOCAL: "local", REMOTE: "remote" } as const);
export type CacheLayer = (typeof CacheLayer)[keyof typeof CacheLayer];

/** One number per shared layer; a layer left out inherits, and is off when nothing is inherited. */
export interface LayerConfig {
  /** The process-local layer. */
  readonly local?: number | undefined;
  /** The Redis layer. */
  readonly remote?: number | undefined;
}

/**
 * Shadow validation: comparison of Redis with the source in the background, for calls that reach the Redis layer. A hit
 * that is served is compared with a run of the source for nothing else; when the key is outside `ramp.remote`, Redis is
 * read unserved, compared with what the call's own source gave, and filled when it held nothing.
 */
export interface ShadowConfig {
  /**
   * Percentage of keys compared, 0 to 100. Default 0. Out of range at run time it is an error of the configuration, and
   * there is no comparison; nothing else changes.
   */
  readonly ramp?: number | undefined;
  /** Whether a mismatch is logged, with its key and both values, clipped. Default false. */
  readonly logMismatches?: boolean | undefined;
}

/** What `new DialCacheKeyConfig()` takes. Anything left out inherits. */
export interface DialCacheKeyConfigInit {
  /** Time to live per layer, in whole seconds, 1 to 31,536,000. A layer without one is off. */
  readonly ttlSec?: LayerConfig | undefined;
  /** Percentage of keys that use a layer, 0 to 100. Default 100 for a layer with a TTL. */
  readonly ramp?: LayerConfig | undefined;
  /** Whether values are memoised for the outermost `enable()` scope. Default false. */
  readonly requestLocal?: boolean | undefined;
  /** Whether calls for the same key share one flight. Default true. */
  readonly coalesce?: boolean | undefined;
  /** Background comparison of Redis with the source. Default: none. */
  readonly shadow?: ShadowConfig | undefined;
}

/** One number of a policy: absent, or NaN when what was given is not a finite number. */
export type Leaf = number | undefined;

/** A policy as the core takes it: leaves only, values unchecked. */
export interface Leaves {
  readonly ttlLocal: Leaf;
  readonly ttlRemote: Leaf;
  readonly rampLocal: Leaf;
  readonly rampRemote: Leaf;
  readonly requestLocal: boolean | undefined;
  readonly coalesce: boolean | undefined;
  readonly shadowRamp: Leaf;
  readonly logMismatches: boolean | undefined;
}

/** Longest TTL: 365 days, in seconds. */
export const MAX_TTL_SEC = 31_536_000;

const CONFIG = optionNames("ttlSec", "ramp", "requestLocal", "coalesce", "shadow");
const LAYERS = optionNames("local", "remote");
const SHADOW = optionNames("ramp", "logMismatches");

// Beside the class instead of in it, so that its type stays structural: two copies of the package may meet.
const leavesOf = new WeakMap<object, Leaves>();
const valid = new WeakSet<object>();

/**
 * A caching policy: the `defaultConfig` of a use case, or what `cacheConfigProvider` lays over it, leaf by leaf.
 * Immutable. The constructor checks shapes and names; values are checked when a use case is registered, and at each call
 * for a provider's answer, where a bad one only turns its layer off.
 */
export class DialCacheKeyConfig {
  /** Time to live per layer, in seconds. */
  readonly ttlSec: LayerConfig | undefined;
  /** Percentage of keys that use a layer. */
  readonly ramp: LayerConfig | undefined;
  /** Whether values are memoised for the outermost `enable()` scope. */
  readonly requestLocal: boolean | undefined;
  /** Whether calls for the same key share one flight. */
  readonly coalesce: boolean | undefined;
  /** Background comparison of Redis with the source. */
  readonly shadow: ShadowConfig | undefined;

  /** @throws TypeError for an unknown name or a member of the wrong type. */
  constructor(init: DialCacheKeyConfigInit = {}) {
    const raw = readConfig(init, { api: "DialCacheKeyConfig", path: "" });
    this.ttlSec = raw.ttlSec;
    this.ramp = raw.ramp;
    this.requestLocal = raw.requestLocal;
    this.coalesce = raw.coalesce;
    this.shadow = raw.shadow;
    leavesOf.set(this, flatten(raw));
    // A subclass still has fields to define.
    if (new.target === DialCacheKeyConfig) Object.freeze(this);
  }

  /** Both shared layers on for every key. @param ttlSec - Time to live of both, in whole seconds. */
  static enabled(ttlSec: number): DialCacheKeyConfig {
    return new DialCacheKeyConfig({
      ttlSec: { local: ttlSec, remote: ttlSec },
      ramp: { local: 100, remote: 100 },
    });
  }

  /** Everything off, whatever is inherited. */
  static disabled(): DialCacheKeyConfig {
    return new DialCacheKeyConfig({
      ramp: { local: 0, remote: 0 },
      requestLocal: false,
      shadow: { ramp: 0, logMismatches: false },
    });
  }
}

/**
 * The leaves of a policy: of a {@link DialCacheKeyConfig}, or of a plain object of the same shape.
 * @throws TypeError when the object is malformed.
 */
export function toLeaves(config: unknown, where: string): Leaves {
  const known = typeof config === "object" && config !== null ? leavesOf.get(config) : undefined;
  return known ?? flatten(readConfig(config, { api: where, path: "" }));
}

/** `config` itself, or a snapshot of a plain object of the same shape. @throws TypeError when it is malformed. */
export function toKeyConfig(config: unknown, place: Place): DialCacheKeyConfig {
  if (typeof config === "object" && config !== null && leavesOf.has(config)) return config as DialCacheKeyConfig;
  return new DialCacheKeyConfig(readConfig(config, place));
}

/** Whether `config` passed {@link validateDefaults}: it is immutable, so once is enough for every `getOrLoad()`. */
export function isValidated(config: unknown): config is DialCacheKeyConfig {
  return typeof config === "object" && config !== null && valid.has(config);
}

/**
 * Checks the values of a use case's own policy.
 * @throws TypeError for a value of the wrong type, RangeError for one out of range; both name the leaf.
 */
export function validateDefaults(config: DialCacheKeyConfig, place: Place): void {
  for (const layer of LAYERS.list) {
    checkTtl(config.ttlSec?.[layer], inside(place, "ttlSec"), layer);
    checkRamp(config.ramp?.[layer], inside(place, "ramp"), layer);
  }
  checkRamp(config.shadow?.ramp, inside(place, "shadow"), "ramp");
  valid.add(config);
}

function checkTtl(value: unknown, place: Place, layer: string): void {
  if (value === undefined) return;
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TTL_SEC) return;
  throw refuse(value, place, layer, "number", `a whole number of seconds from 1 to ${MAX_TTL_SEC}`);
}

function checkRamp(value: unknown, place: Place, name: string): void {
  if (value === undefined) return;
  if (typeof value === "number" && value >= 0 && value <= 100) return;
  throw refuse(value, place, name, "number", "a percentage from 0 to 100");
}

function readConfig(input: unknown, place: Place): Required<DialCacheKeyConfigInit> {
  if (typeof input === "object" && input !== null && "remoteReadTimeoutMs" in input) {
    const option = `${place.path}remoteReadTimeoutMs`;
    const instead = "give redisReadTimeoutMs to cached() or getOrLoad(), or redis.readTimeoutMs to new DialCache()";
    throw invalid(TypeError, place, option, `${option} is not part of a policy: ${instead}`);
  }
  const { ttlSec, ramp, requestLocal, coalesce, shadow } = readOptions(input, place, CONFIG);
  return {
    ttlSec: layers(ttlSec, inside(place, "ttlSec")),
    ramp: layers(ramp, inside(place, "ramp")),
    requestLocal: requestLocal === undefined ? undefined : boolean(requestLocal, place, "requestLocal"),
    coalesce: coalesce === undefined ? undefined : boolean(coalesce, place, "coalesce"),
    shadow: shadow === undefined ? undefined : readShadow(shadow, inside(place, "shadow")),
  };
}

function layers(input: unknown, place: Place): LayerConfig | undefined {
  if (input === undefined) return undefined;
  const { local, remote } = readOptions(input, place, LAYERS) as LayerConfig;
  return Object.freeze({ local, remote });
}

function readShadow(input: unknown, place: Place): ShadowConfig {
  const { ramp, logMismatches } = readOptions(input, place, SHADOW);
  return Object.freeze({
    ramp: ramp as number | undefined,
    logMismatches: logMismatches === undefined ? undefined : boolean(logMismatches, place, "logMismatches"),
  });
}

function flatten({ ttlSec, ramp, requestLocal, coalesce, shadow }: DialCacheKeyConfigInit): Leaves {
  return Object.freeze({
    ttlLocal: leaf(ttlSec?.local),
    ttlRemote: leaf(ttlSec?.remote),
    rampLocal: leaf(ramp?.local),
    rampRemote: leaf(ramp?.remote),
    requestLocal,
    coalesce,
    shadowRamp: leaf(shadow?.ramp),
    logMismatches: shadow?.logMismatches,
  });
}

function leaf(value: unknown): Leaf {
  return value === undefined || Number.isFinite(value) ? (value as Leaf) : Number.NaN;
}
