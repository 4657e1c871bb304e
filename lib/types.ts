import type { DialCacheKeyConfig } from "./config";
import type { IsJsonCompatible } from "./json-type";
import type { CacheKeySpec, DialCacheKey } from "./key";
import type { Logger } from "./logger";
import type { DialCacheMetricsAdapter } from "./metrics";
import type { RedisConfig } from "./redis-types";
import type { Awaitable, Serializer } from "./serializer";
import type { SourcePriority } from "./source-types";

export type * from "./redis-types";

/** Any function. */
export type AnyFunction = (...args: never[]) => unknown;

/** What a function's result is once awaited. */
export type CachedValue<Fn extends AnyFunction> = Awaited<ReturnType<Fn>>;

/** `Fn` with the same parameters; its result always comes as a promise. */
export type CachedFn<Fn extends AnyFunction> = (...args: Parameters<Fn>) => Promise<CachedValue<Fn>>;

/** Policy of one key, laid over `defaultConfig` leaf by leaf; null lays nothing over it. */
export type CacheConfigProvider = (key: DialCacheKey) => Awaitable<DialCacheKeyConfig | null>;

/** How the local layer chooses what to evict: least recently used, or scan-resistant. */
export type LocalPolicy = "lru" | "tinyLfu";

/** Options of `new DialCache()`. */
export interface DialCacheConfig {
  /** First part of every key, and a metric label; without `{` and `}`. Default `urn`. */
  readonly namespace?: string | undefined;
  /** Without it there is no Redis layer, whatever the environment says. */
  readonly redis?: RedisConfig | undefined;
  /** Most entries of the local layer, over all use cases, up to 67,108,864. Default 10,000; 0 turns the layer off. */
  readonly localMaxSize?: number | undefined;
  /** Default `lru`. With `tinyLfu` a key seen for the first time may not be kept. */
  readonly localPolicy?: LocalPolicy | undefined;
  /** Asked once per enabled call, before any lookup. */
  readonly cacheConfigProvider?: CacheConfigProvider | undefined;
  /** Receives each event as it happens. Default: none. */
  readonly metrics?: DialCacheMetricsAdapter | undefined;
  /** Default `console`; null is silent. */
  readonly logger?: Logger | null | undefined;
  /**
   * Most shadow validations at once; calls beyond that go without, counted as `dropped`. Default 1. One that is over
   * keeps its place until the source run, read or write it began has settled.
   */
  readonly shadowMaxInFlight?: number | undefined;
  /** Whether lookups of the in-process layers are timed for `metrics`. Default false. */
  readonly localTimings?: boolean | undefined;
}

interface UseCaseOptions {
  /** What kind of id the key holds, such as `user_id`: part of the key, and a metric label. */
  readonly keyType: string;
  /** Stable name of what is computed: part of the key, and a metric label. Not `watermark`. */
  readonly useCase: string;
  /** Policy of this use case. Default: every layer off. */
  readonly defaultConfig?: DialCacheKeyConfig | null | undefined;
  /** Whether `invalidateRemote()` reaches these entries. Default false. */
  readonly trackForInvalidation?: boolean | undefined;
  /** Replaces `redis.readTimeoutMs` here, in milliseconds: a whole number from 1 to 2,147,483,647. */
  readonly redisReadTimeoutMs?: number | undefined;
  /**
   * How long the source may take, in milliseconds: a whole number from 1 to 2,147,483,647. Default 60,000; null turns the
   * deadline off.
   */
  readonly fallbackTimeoutMs?: number | null | undefined;
  /**
   * Priority of the calls when a source stands in place of the function: before the source's own. Fixed here, because a
   * follower can neither raise nor lower the priority of the call it shares. Default: the source's.
   */
  readonly priority?: SourcePriority | undefined;
  /** Starts the source beside a Redis read that is late, and takes what is usable first. Default: never. */
  readonly readHedge?: ReadHedgeOptions | undefined;
}

/** When a Redis read is hedged. */
export interface ReadHedgeOptions {
  /**
   * How long the read has the call to itself, in milliseconds: above 0 and below the read deadline. Or `"auto"`: the 95th
   * percentile of this use case's read times over the last 60 seconds, at least 1 ms; no hedge until 100 reads are known.
   * Hedges are at most a tenth of the leaders' reads, and ten at once.
   */
  readonly delayMs: number | "auto";
}

/** A serializer: optional when JSON can carry the result, required when it cannot. */
type SerializerOption<V> =
  IsJsonCompatible<V> extends true
    ? {
        /** Default: `redis.serializer`. */
        readonly serializer?: Serializer<V> | null | undefined;
      }
    : {
        /** Required here: JSON cannot carry the result's type. */
        readonly serializer: Serializer<V>;
      };

/** How shadow validation compares. */
interface ShadowOptions<V> {
  /**
   * Whether a value from Redis and one from the source are equal: synchronous, and free to ignore what may differ. A
   * throw, or anything but a boolean, is the outcome `comparison_error`. Default `util.isDeepStrictEqual`.
   */
  readonly shadowComparator?: ((cached: V, source: V) => boolean) | undefined;
}

/** Options of `cached()`. */
export type CachedOptions<Fn extends AnyFunction> = UseCaseOptions & {
  /** Picks id and further dimensions from the arguments: everything that can change the result. */
  readonly cacheKey: (...args: Parameters<Fn>) => CacheKeySpec;
} & SerializerOption<CachedValue<Fn>> &
  ShadowOptions<CachedValue<Fn>>;

/** Options of `getOrLoad()`. */
export type GetOrLoadOptions<V> = UseCaseOptions & {
  /** Id and further dimensions: everything that can change the result. */
  readonly key: CacheKeySpec;
} & SerializerOption<V> &
  ShadowOptions<V>;

/** Flights of this process that are not answered yet. */
export interface ProcessCoalescingState {
  /** Keys being loaded. */
  readonly activeLeaders: number;
  /** Calls waiting for one of them. */
  readonly activeFollowers: number;
  /** Age of the oldest, in milliseconds; null when there is none. */
  readonly oldestLeaderAgeMs: number | null;
}

/** What `getCoalescingState()` returns. */
export interface CoalescingState {
  /** Flights that calls of this instance may join. */
  readonly process: ProcessCoalescingState;
}
