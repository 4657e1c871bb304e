// The public API, generated from lib/index.ts by `npm run types`. Do not edit.
/// <reference types="node" />

import { EventEmitter } from "node:events";

/** No endpoint of a source could be called: the breaker of each is open. Rejects the call. */
export declare class BreakerOpenError extends DialCacheError {
  /** Name of the source. */
  readonly source: string;
  readonly code = "DIALCACHE_BREAKER_OPEN";
  /** HTTP status a web framework may answer with. */
  readonly status = 503;
  constructor(
    /** Name of the source. */
    source: string,
    options?: ErrorOptions,
  );
}

/** Stores bytes as they are, without a copy. */
export declare class BufferSerializer implements Serializer<PlainBuffer> {
  /** @throws TypeError for anything but a Buffer or Uint8Array. */
  dump(value: Uint8Array): PlainBuffer;
  /** @throws TypeError for a text payload. */
  load(payload: string | Buffer): PlainBuffer;
}

/**
 * One time limit for several steps together, so that their limits do not add up.
 *
 * It counts from when it was made, on a monotonic clock. An idle one does not keep the process alive, a pending step does.
 */
export declare class Deadline {
  #private;
  private constructor();
  /**
   * A deadline `ms` milliseconds from now: a whole number from 1 to 2,147,483,647.
   * @throws TypeError or RangeError for anything else.
   */
  static after(ms: number): Deadline;
  /** Aborts when the time is up, whether or not anyone holds the deadline. Its `reason` is a {@link DeadlineExceededError}. */
  get signal(): AbortSignal;
  /** What is left, in milliseconds; 0 when the time is up. */
  remainingMs(): number;
  /**
   * Runs `fn`, and waits for it no longer than the deadline. What it does afterwards is ignored.
   * @param step - Names it in errors.
   * @param fn - Gets a signal that aborts when nobody waits any more. Is not called when the time is up already.
   * @returns What `fn` does; or rejects with a {@link DeadlineExceededError}, also when `fn` settled too late and no timer
   * had fired yet, or with the `reason` of `options.signal`.
   * @throws TypeError naming a bad argument (as a rejection).
   */
  run<T>(step: string, fn: (signal: AbortSignal) => Awaitable<T>, options?: DeadlineRunOptions): Promise<T>;
}

/** An operation's time was up: of a {@link Deadline}'s step, or of a source's call. Rejects the step or the call. */
export declare class DeadlineExceededError extends DialCacheError {
  /** What the operation was given, in milliseconds: for all of its steps together. */
  readonly timeoutMs: number;
  /** Step that was under way or could not begin, a source's name for its calls; undefined when there was none. */
  readonly step: string | undefined;
  readonly code = "DIALCACHE_DEADLINE_EXCEEDED";
  /** HTTP status a web framework may answer with. */
  readonly status = 504;
  constructor(
    /** What the operation was given, in milliseconds: for all of its steps together. */
    timeoutMs: number,
    /** Step that was under way or could not begin, a source's name for its calls; undefined when there was none. */
    step: string | undefined,
    options?: ErrorOptions,
  );
}

/**
 * Caches the results of functions: for one request, in this process, and in Redis or Valkey. Off until `enable()`. No
 * failure or delay of the cache reaches a caller: its source runs instead.
 */
export declare class DialCache {
  #private;
  /** @throws TypeError or RangeError naming a bad option. */
  constructor(config?: DialCacheConfig);
  /** Runs `fn` with caching on, for it and the asynchronous work it awaits. Scopes nest. */
  enable<T>(fn: () => Awaitable<T>): Promise<T>;
  /** Runs `fn` with caching off. Nothing stored is dropped. */
  disable<T>(fn: () => Awaitable<T>): Promise<T>;
  /** Same as {@link DialCache.enable}. */
  withEnabled<T>(fn: () => Awaitable<T>): Promise<T>;
  /** Same as {@link DialCache.disable}. */
  withDisabled<T>(fn: () => Awaitable<T>): Promise<T>;
  /** Whether caching is on for the running asynchronous call chain. */
  isEnabled(): boolean;
  /**
   * Wraps `fn` so that calls in an enabled scope are cached. The name `useCase` can be registered once per instance.
   * @throws TypeError or RangeError naming a bad option, UseCaseIsAlreadyRegisteredError, UseCaseNameIsReservedError.
   */
  cached<Fn extends AnyFunction>(fn: Fn, options: CachedOptions<Fn>): CachedFn<Fn>;
  /**
   * One call of `load` through the cache, for what is computed in one place only. Registers nothing; calls of one
   * `useCase` and `key` must agree on what the value means.
   * @throws TypeError or RangeError naming a bad option, synchronously; UseCaseNameIsReservedError.
   */
  getOrLoad<V>(load: () => Awaitable<V>, options: GetOrLoadOptions<V>): Promise<V>;
  /**
   * Bars what was cached for an id, in Redis and in this process: its tracked entries, of every use case and with any
   * arguments. To be called after the change at the source has been committed. Idempotent.
   * @param futureBufferMs - How long after now values are still refused, in milliseconds: a whole number from 0 to
   * 31,536,000,000. At least as long as a load that began before the change may take to write its value.
   * @throws TypeError without Redis, DialCacheClosedError after `close()`, DialCacheKeyError for a key type or id that
   * cannot be part of a tracked key, and whatever the Redis client rejects with.
   */
  invalidateRemote(keyType: string, id: string | number | bigint, futureBufferMs?: number): Promise<void>;
  /** The flights of this instance that are not answered yet. */
  getCoalescingState(): CoalescingState;
  /** What was counted since this instance was made. */
  stats(): DialCacheStats;
  /**
   * Waits for background writes: of values that calls brought, and of those a shadow validation may still fill Redis
   * with. Not for comparisons.
   * @param options - `timeoutMs`: how long, in milliseconds. Default 10,000.
   * @returns True when none is pending any more, false when the time was over.
   */
  drain(options?: { readonly timeoutMs?: number | undefined }): Promise<boolean>;
  /**
   * Turns the Redis layer off: pending reads fail open, and calls go on with the local layer and their source. A client
   * this instance made is closed; one that was given is not. Later calls do nothing.
   */
  close(): Promise<void>;
  /** Waits up to a second for background writes, then closes. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The instance or client was closed. */
export declare class DialCacheClosedError extends DialCacheError {
  readonly code = "DIALCACHE_CLOSED";
  constructor(message?: string, options?: ErrorOptions);
}

/**
 * Whether caching is on for the running asynchronous call chain. Off until `enable()`; scopes follow the async context
 * and nest. Work that outlives the outermost `enable()` is off again: it cannot refill a scope that is gone.
 */
export declare class DialCacheContext {
  #private;
  /** Runs `fn` with caching on. Resolves or rejects as `fn` does; a synchronous throw rejects. */
  enable<T>(fn: () => Awaitable<T>): Promise<T>;
  /** Runs `fn` with caching off. Stored values stay; a nested `enable()` goes on with the outer scope. */
  disable<T>(fn: () => Awaitable<T>): Promise<T>;
  /** Whether caching is on here and the scope that turned it on is still open. */
  isEnabled(): boolean;
}

/**
 * Base of this package's error classes. `instanceof` compares a brand instead of the prototype, so it also holds between
 * two copies of the package in one process (ESM beside CommonJS, or two versions). A bad option is no such error but a
 * TypeError or RangeError with the code `DIALCACHE_INVALID_OPTION`, and its `option`'s name.
 *
 * No message ever contains a cache key, an id or an argument.
 */
export declare class DialCacheError extends Error {
  /** Stable identifier of the kind of error, for logs and `switch`. */
  readonly code: string;
  /** Name, code, message and the fields of the class; neither stack nor cause, which may hold anything. */
  toJSON(): Record<string, unknown>;
}

/** The identity of a result, as a `cacheConfigProvider` sees it. Frozen. */
export declare class DialCacheKey {
  /** The instance's namespace. */
  readonly namespace: string;
  /** What kind of id it is. */
  readonly keyType: string;
  /** The id as text. */
  readonly id: string;
  /** What is computed. */
  readonly useCase: string;
  /** Further dimensions, by name, as text. */
  readonly args: ReadonlyArray<readonly [name: string, value: string]>;
  /** Whether `invalidateRemote()` reaches it. */
  readonly trackForInvalidation: boolean;
  /** Encoded `namespace:keyType:id`, in braces when tracked: all results of one entity share it. */
  readonly prefix: string;
  /** The whole logical key. In Redis it is followed by `:dialcache-frame-v1`. */
  readonly urn: string;
  /** Policy of the use case. */
  readonly defaultConfig: DialCacheKeyConfig | null;
  /** Serializer of the use case. */
  readonly serializer: Serializer<unknown> | null;
  /** @throws DialCacheKeyError for ill-formed text, and for braces where a Redis Cluster hash tag forbids them. */
  constructor(init: DialCacheKeyInit);
  /** The whole logical key. */
  toString(): string;
}

/**
 * A caching policy: the `defaultConfig` of a use case, or what `cacheConfigProvider` lays over it, leaf by leaf.
 * Immutable. The constructor checks shapes and names; values are checked when a use case is registered, and at each call
 * for a provider's answer, where a bad one only turns its layer off.
 */
export declare class DialCacheKeyConfig {
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
  constructor(init?: DialCacheKeyConfigInit);
  /** Both shared layers on for every key. @param ttlSec - Time to live of both, in whole seconds. */
  static enabled(ttlSec: number): DialCacheKeyConfig;
  /** Everything off, whatever is inherited. */
  static disabled(): DialCacheKeyConfig;
}

/** A key could not be built from what the key selector returned; the source runs uncached. */
export declare class DialCacheKeyError extends DialCacheError {
  readonly code = "DIALCACHE_KEY";
}

/** The native client could not carry out a command. */
export declare class DialCacheRedisError extends DialCacheError {
  /** Stable kind of the failure, as in `stats()`. */
  readonly kind: string;
  readonly code = "DIALCACHE_REDIS";
  constructor(
    /** Stable kind of the failure, as in `stats()`. */
    kind: string,
    message: string,
    options?: ErrorOptions,
  );
}

/** A frame names a payload encoding this version does not know. */
export declare class DialCacheRedisPayloadEncodingError extends DialCacheError {
  readonly code = "DIALCACHE_REDIS_PAYLOAD_ENCODING";
  constructor(message?: string, options?: ErrorOptions);
}

/** A client answered a read with something that is not a payload. */
export declare class DialCacheRedisPayloadError extends DialCacheError {
  readonly code = "DIALCACHE_REDIS_PAYLOAD";
  constructor(message?: string, options?: ErrorOptions);
}

/** The placeholder of a tracked write was gone before it could be stamped. */
export declare class DialCacheRedisPlaceholderLostError extends DialCacheError {
  readonly code = "DIALCACHE_REDIS_PLACEHOLDER_LOST";
  constructor(message?: string, options?: ErrorOptions);
}

/** A client answered a write or an invalidation with something outside the protocol. */
export declare class DialCacheRedisProtocolError extends DialCacheError {
  readonly code = "DIALCACHE_REDIS_PROTOCOL";
  constructor(message?: string, options?: ErrorOptions);
}

/** The source took longer than `fallbackTimeoutMs`: rejects the leader and its followers. */
export declare class FallbackTimeoutError extends DialCacheError {
  /** Use case whose source timed out. */
  readonly useCase: string;
  /** The source's deadline, in milliseconds. */
  readonly timeoutMs: number;
  readonly code = "DIALCACHE_FALLBACK_TIMEOUT";
  /** HTTP status a web framework may answer with. */
  readonly status = 504;
  constructor(
    /** Use case whose source timed out. */
    useCase: string,
    /** The source's deadline, in milliseconds. */
    timeoutMs: number,
    options?: ErrorOptions,
  );
}

/** Reason of the signal of an attempt that is not needed any more: another one was faster. Never rejects a call. */
export declare class HedgeLostError extends DialCacheError {
  readonly code = "DIALCACHE_HEDGE_LOST";
  constructor(message?: string, options?: ErrorOptions);
}

/** An endpoint of an `httpSource()` answered with one of `failOnStatuses`. Its body was not read. */
export declare class HttpStatusError extends DialCacheError {
  /** Name of the source. */
  readonly source: string;
  /** Place of the endpoint among the source's, from 0. */
  readonly endpoint: number;
  /** Status of the answer. */
  readonly status: number;
  readonly code = "DIALCACHE_HTTP_STATUS";
  constructor(
    /** Name of the source. */
    source: string,
    /** Place of the endpoint among the source's, from 0. */
    endpoint: number,
    /** Status of the answer. */
    status: number,
    options?: ErrorOptions,
  );
}

/**
 * The default serializer: JSON, plus a top-level `undefined`. `T` is the caller's word: syntax is checked, not shape.
 * As everywhere in JSON, `NaN` and infinities become `null`.
 */
export declare class JsonSerializer<T = unknown> implements Serializer<T> {
  /** @throws TypeError for a value JSON has no text for: functions, symbols, bigints, circular structures. */
  dump(value: T): string;
  /** @throws SyntaxError when the payload is not JSON. */
  load(payload: string | Buffer): T;
}

/**
 * A connection to a Redis or Valkey server whose sockets, parsing and deadlines live on a native thread. It connects in
 * the background, keeps itself up, and never keeps an otherwise idle process alive. Single servers over TCP, TLS or a
 * unix socket, and clusters; Sentinel is not supported.
 *
 * Emits `"status"` with each new {@link RedisClientStatus}.
 */
export declare class RedisClient
  extends EventEmitter<{
    status: [RedisClientStatus];
  }>
  implements DialCacheRedisClient
{
  /** Never throws for a server that cannot be reached. @throws TypeError or RangeError naming a bad option. */
  constructor(options?: RedisClientOptions);
  /** What the client is doing about its connection. */
  get status(): RedisClientStatus;
  /**
   * Waits for a connection, however many attempts it takes.
   * @param options - `timeoutMs`: how long, in milliseconds; without it as long as the client is open.
   * @throws DialCacheRedisError when the time is over, DialCacheClosedError when the client is closed.
   */
  ready(options?: { readonly timeoutMs?: number | undefined }): Promise<void>;
  /**
   * The payload stored under a key, or null. A Buffer comes as it is stored, compressed or not.
   * @param context - `timeoutMs`: how long to wait, in milliseconds; without it as long as the connection lives. The
   * signal is not looked at.
   * @throws DialCacheRedisError when the time is over or Redis could not be asked, DialCacheClosedError.
   */
  read(request: RedisReadRequest, context?: RedisReadContext): Promise<RedisCachePayload | null>;
  /**
   * Stores a payload as it is. Resolves with false when the id was invalidated; the connection's end is its only limit
   * in time.
   * @throws DialCacheRedisError when the server did not take it, DialCacheClosedError, DialCacheRedisPayloadError.
   */
  write(request: RedisWriteRequest): Promise<boolean>;
  /** Raises a watermark, never lowers it. Waits up to `responseTimeoutMs` for a connection and retries once. */
  invalidate(request: RedisInvalidationRequest): Promise<void>;
  /** Ends the client: what is pending is rejected, later requests fail at once. Later calls do nothing. */
  close(): void;
  /** Figures of this moment. */
  stats(): RedisClientStats;
  /** Closes the client. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The Redis read of a leader took longer than its read deadline. Logged and counted; the caller gets the source's value. */
export declare class RedisReadTimeoutError extends DialCacheError {
  /** Use case whose read timed out. */
  readonly useCase: string;
  /** The read deadline, in milliseconds. */
  readonly timeoutMs: number;
  readonly code = "DIALCACHE_REDIS_READ_TIMEOUT";
  constructor(
    /** Use case whose read timed out. */
    useCase: string,
    /** The read deadline, in milliseconds. */
    timeoutMs: number,
    options?: ErrorOptions,
  );
}

/**
 * Several attempts of a source's call failed. `errors` holds the error of each, in the order of the attempts, and `cause`
 * is the first attempt's. An AggregateError, and a {@link DialCacheError} to `instanceof`.
 */
export declare class SourceAttemptsError extends AggregateError {
  /** Name of the source. */
  readonly source: string;
  /** Stable identifier of the kind of error. */
  readonly code = "DIALCACHE_SOURCE_ATTEMPTS";
  constructor(
    errors: Iterable<unknown>,
    /** Name of the source. */
    source: string,
    options?: ErrorOptions,
  );
  /** Name, code, message and source; neither the stack nor the attempts' errors, which may hold anything. */
  toJSON(): Record<string, unknown>;
}

/** Stores strings as they are. */
export declare class StringSerializer implements Serializer<string> {
  /** @throws TypeError for anything but a well-formed string: UTF-8 cannot carry an unpaired surrogate. */
  dump(value: string): string;
  /** @throws TypeError for a binary payload. */
  load(payload: string | Buffer): string;
}

/** `cached()` was given a `useCase` that this instance already has. */
export declare class UseCaseIsAlreadyRegisteredError extends DialCacheError {
  /** The name that was given twice. */
  readonly useCase: string;
  readonly code = "DIALCACHE_USE_CASE_ALREADY_REGISTERED";
  constructor(
    /** The name that was given twice. */
    useCase: string,
    options?: ErrorOptions,
  );
}

/** The `useCase` is a name this package keeps for itself (`watermark`). */
export declare class UseCaseNameIsReservedError extends DialCacheError {
  /** The reserved name. */
  readonly useCase: string;
  readonly code = "DIALCACHE_USE_CASE_RESERVED";
  constructor(
    /** The reserved name. */
    useCase: string,
    options?: ErrorOptions,
  );
}

/** The shared layers a policy can be given for. */
export declare const CacheLayer: Readonly<{
  readonly LOCAL: "local";
  readonly REMOTE: "remote";
}>;

/**
 * A source over the global `fetch`. The first attempt to get headers wins, and its Response is what a call gets, whose body
 * is then the caller's: neither the timeout nor the signal of the call bounds its reading. Losers' connections are closed.
 *
 * An answer with one of `failOnStatuses` is a transient failure, with a {@link HttpStatusError}; its body is not read.
 * Other answers are results, whatever their status.
 * @throws TypeError or RangeError naming a bad option; never a URL.
 */
export declare function httpSource<Args extends any[] = []>(options: HttpSourceOptions<Args>): Source<Args, Response>;

/**
 * Encoded `namespace:keyType:id` of a tracked entity, without the braces of its hash tag.
 * @throws DialCacheKeyError for ill-formed text and for braces.
 */
export declare function invalidationPrefix(namespace: string, keyType: string, id: string): string;

/**
 * Name and text of each argument that is not `undefined`, sorted by name (UTF-16 code units).
 * @throws DialCacheKeyError for values without a text of their own, and for ill-formed text.
 */
export declare function normalizeArgs(args: KeyArgs): [name: string, value: string][];

/** `value` as a Redis Cluster hash tag: keys that share it share a slot. @throws DialCacheKeyError for braces in it. */
export declare function redisClusterHashTag(value: string): string;

/**
 * Makes a function of one or several, the endpoints: a call of it is answered by the first usable result. The order of
 * the endpoints is preference. Every policy is off until it is named; those that may call more than once (`hedge`,
 * `failover`, `retry`) need `idempotent: true`.
 * @throws TypeError or RangeError naming a bad option.
 */
export declare function source<Args extends any[], T>(
  functions: SourceFunction<Args, T> | readonly SourceFunction<Args, T>[],
  options: SourceOptions,
): Source<Args, T>;

/** An attempt brought the result. */
export interface AttemptWon {
  /** Name of the source. */
  readonly source: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Why it had been started. */
  readonly kind: AttemptKind;
  /** Its endpoint's place, from 0. */
  readonly endpoint: number;
  /** How long the race lasted, in milliseconds: from the start of its last runner; 0 without a race. */
  readonly marginMs: number;
  /** How many attempts were still running. */
  readonly losers: number;
}

/** Labels of most events. All values are bounded: no key, id, value, message or duration is ever among them. */
export interface CacheMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** Name of what is computed. */
  readonly useCase: string;
  /** What kind of id the key holds. */
  readonly keyType: string;
  /** Layer the event is about. */
  readonly layer: MetricLayer;
}

/** Labels of a call that joined a flight. */
export interface CoalescedMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** Name of what is computed. */
  readonly useCase: string;
  /** What kind of id the key holds. */
  readonly keyType: string;
  /** Whose flight it was. */
  readonly scope: CoalescingScope;
}

/** What `getCoalescingState()` returns. */
export interface CoalescingState {
  /** Flights that calls of this instance may join. */
  readonly process: ProcessCoalescingState;
}

/** zstd compression of Redis payloads. */
export interface CompressionConfig {
  /** Smallest payload that is compressed, in bytes. Default 4096. */
  readonly thresholdBytes?: number | undefined;
  /** zstd level, 1 to 22. Default 3. */
  readonly level?: number | undefined;
}

/** Labels of a payload that passed the compressor. */
export interface CompressionMetricLabels extends CacheMetricLabels {
  /** What became of it. */
  readonly outcome: CompressionOutcome;
}

/** Labels of the compressor's work. */
export interface CompressionOperationMetricLabels extends CacheMetricLabels {
  /** Which way. */
  readonly operation: "compress" | "decompress";
}

/** Options of {@link Deadline.run}. */
export interface DeadlineRunOptions {
  /** The caller's own: when it aborts, the step is rejected with its `reason`, which is no timeout. */
  readonly signal?: AbortSignal | undefined;
}

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

/** What `new DialCacheKey()` takes. */
export interface DialCacheKeyInit {
  /** What kind of id it is. */
  readonly keyType: string;
  /** Which one. */
  readonly id: string;
  /** What is computed. */
  readonly useCase: string;
  /** Further dimensions, kept in the order given: see {@link normalizeArgs}. Default: none. */
  readonly args?: ReadonlyArray<readonly [name: string, value: string]> | undefined;
  /** Default `urn`. */
  readonly namespace?: string | undefined;
  /** Policy of the use case. Default null. */
  readonly defaultConfig?: DialCacheKeyConfig | null | undefined;
  /** Serializer of the use case. Default null. */
  readonly serializer?: Serializer<unknown> | null | undefined;
  /** Default false. */
  readonly trackForInvalidation?: boolean | undefined;
}

/**
 * Receives each event as it happens. Durations are in seconds, sizes in bytes. A hook that throws or rejects is ignored;
 * optional ones may be left out.
 */
export interface DialCacheMetricsAdapter {
  /** A lookup in an enabled layer. */
  request(labels: CacheMetricLabels): void;
  /** A lookup that found nothing usable. */
  miss(labels: CacheMetricLabels): void;
  /** A layer, or a whole call, that was skipped. */
  disabled(labels: DisabledMetricLabels): void;
  /** A failure of the cache or of the source. */
  error(labels: ErrorMetricLabels): void;
  /** A call of `invalidateRemote()`. */
  invalidation(labels: InvalidationMetricLabels): void;
  /** Time of a lookup: in Redis always, in the in-process layers with `localTimings: true`. */
  observeGet(labels: CacheMetricLabels, seconds: number): void;
  /** Time of the source, up to its result or its deadline. */
  observeFallback(labels: CacheMetricLabels, seconds: number): void;
  /** Time of a serializer's `dump` or `load`. */
  observeSerialization(labels: SerializationMetricLabels, seconds: number): void;
  /** Size of a serialized payload, before compression. */
  observeSize(labels: CacheMetricLabels, bytes: number): void;
  /** A follower that joined a flight. */
  coalesced?(labels: CoalescedMetricLabels): void;
  /** A read that was hedged, or that the budget did not let be. */
  readHedge?(labels: ReadHedgeMetricLabels): void;
  /** A shadow validation that ended, or that there was no room for. */
  shadowValidation?(labels: ShadowValidationMetricLabels): void;
  /** Age of the compared Redis value, for a match or a mismatch, when the client tells when it was written. */
  observeShadowValueAge?(labels: ShadowValidationMetricLabels, seconds: number): void;
  /** A payload that passed the compressor: each one written unless compression is off, and each one read that was compressed. */
  compression?(labels: CompressionMetricLabels): void;
  /** Time of a compression, whether or not it was worth it, or of a decompression, on the thread that did it. */
  observeCompression?(labels: CompressionOperationMetricLabels, seconds: number): void;
  /** Size of a payload as it is written, compressed or not, without the frame's ten bytes. */
  observeStoredSize?(labels: CacheMetricLabels, bytes: number): void;
  /** Stored size divided by serialized size, of payloads that are stored compressed. */
  observeCompressionRatio?(labels: CacheMetricLabels, ratio: number): void;
  /** Something happened to a hedge of a source. */
  hedge?(labels: HedgeMetricLabels): void;
  /** An attempt of a source ended. */
  sourceAttempt?(labels: SourceAttemptMetricLabels): void;
}

/**
 * What an instance needs of a Redis client. `RedisClient` implements it; so can any client of yours.
 * Such a client needs finite connect, retry, queue, dispatch and response budgets of its own: the read deadline bounds
 * how long callers wait, not what the client keeps.
 */
export interface DialCacheRedisClient {
  /** The payload, or null for a miss. A rejection is a failed read; `context` may be ignored. */
  read(request: RedisReadRequest, context?: RedisReadContext): Awaitable<RedisCachePayload | RedisReadHit | null>;
  /** True when the value was stored, false when an invalidation forbade it. */
  write(request: RedisWriteRequest): Awaitable<boolean>;
  /** Advances the watermark, never back. */
  invalidate(request: RedisInvalidationRequest): Awaitable<void>;
}

/** What `DialCache.stats()` returns: a detached snapshot. */
export interface DialCacheStats {
  /** By name of the use case. */
  readonly useCases: Readonly<Record<string, UseCaseStats>>;
  /** By key type. */
  readonly invalidations: Readonly<Record<string, InvalidationStats>>;
  /** The process-local layer. */
  readonly local: {
    /** Entries of the process-local layer. */
    readonly entries: number;
    /** The most it keeps. */
    readonly maxEntries: number;
  };
  /** Flights that may be joined. */
  readonly flights: {
    /** Leaders whose callers wait. */
    readonly active: number;
    /** Callers that joined them. */
    readonly followers: number;
    /** Answered ones that may still be joined while their write goes on. */
    readonly lingering: number;
  };
  /** Deadlines kept here and on the native thread. */
  readonly timers: {
    /** Deadlines pending now: of reads, of sources, of flights that linger, and of shadow validations. */
    readonly armed: number;
  };
  /** Values on their way to Redis, those included that a shadow validation may still write. */
  readonly pendingWrites: number;
  /** Shadow validations. */
  readonly shadow: {
    /** Those that hold a place: under way, or over and waiting for what they began. */
    readonly inFlight: number;
    /** The most at once. */
    readonly maxInFlight: number;
  };
  /** Sources that stand in place of functions, by name; of two that have one name, the one that came last. */
  readonly sources: Readonly<Record<string, SourceStats>>;
  /** Figures of the native Redis client, owned or given; null without one. */
  readonly client: RedisClientStats | null;
}

/** Labels of a layer, or of a whole call, that was skipped. */
export interface DisabledMetricLabels extends CacheMetricLabels {
  /** Why it was. */
  readonly reason: DisabledReason;
}

/** Labels of a failure. */
export interface ErrorMetricLabels extends CacheMetricLabels {
  /** What failed. */
  readonly error: MetricErrorKind;
  /** True when the source failed, false when the cache did. */
  readonly inFallback: boolean;
}

/** What one call of a source may differ in: before the source's options, which are before the priority's presets. */
export interface ExecuteOptions {
  /** Presets for what neither this call nor the source names. */
  readonly priority?: SourcePriority | undefined;
  /** The caller's own: when it aborts, so do all attempts, and the call is rejected with its `reason`. */
  readonly signal?: AbortSignal | undefined;
  /** How long the call may take with all its attempts, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Bounds the call, beside its own timeout. */
  readonly deadline?: Deadline | undefined;
  /** False turns it off for this call. */
  readonly hedge?: HedgeOverride | false | undefined;
  /** False turns it off for this call. */
  readonly failover?: FailoverOptions | false | undefined;
  /** False turns it off for this call. */
  readonly retry?: RetryOptions | false | undefined;
}

/** Another endpoint when an attempt failed for a transient reason. Needs `idempotent: true`. */
export interface FailoverOptions {
  /** Default `sequential`. */
  readonly policy?: FailoverPolicy | undefined;
  /**
   * HTTP statuses that are transient failures: of an `httpSource()`'s answer, or in an error's `status`, `statusCode` or
   * `response`. Default 500, 502, 503, 504, 522 and 524.
   */
  readonly failOnStatuses?: readonly number[] | undefined;
  /** Whether endpoints with an open breaker are left out. Default true. */
  readonly respectCircuitBreaker?: boolean | undefined;
}

/** A failover was started. */
export interface FailoverStarted {
  /** Name of the source. */
  readonly source: string;
  /** Number of the new attempt, from 1. */
  readonly attempt: number;
  /** Place of the endpoint that failed, from 0. */
  readonly from: number;
  /** Its endpoint's place, from 0. */
  readonly endpoint: number;
}

/** How many hedges calls earn. In every interval there are at most `burst + ratio * primaries`. */
export interface HedgeBudgetOptions {
  /** Hedges for each primary attempt: above 0, at most 0.15. Default 0.10. */
  readonly ratio?: number | undefined;
  /** How many can be saved up, and are at the start: a whole number of at least 1. Default 10. */
  readonly burst?: number | undefined;
}

/** Labels of what happened to a hedge of a source. */
export interface HedgeMetricLabels {
  /** Name of the source. */
  readonly source: string;
  /** What happened. */
  readonly event: HedgeEvent;
}

/** One more attempt when an answer is late. Needs `idempotent: true`. */
export interface HedgeOptions extends HedgeOverride {
  /** Part of the calls that `"auto"` takes to be on time: below 1. Default, and the least it can be: `1 - budget.ratio`. */
  readonly quantile?: number | undefined;
  /** How far back `"auto"` looks, in milliseconds. Default 60,000. */
  readonly windowMs?: number | undefined;
  /** How many calls `"auto"` must have seen in the window. Default 100. */
  readonly minSamples?: number | undefined;
  /** The least that `"auto"` waits, in milliseconds. Default 1. */
  readonly minDelayMs?: number | undefined;
  /** How many hedges calls earn. */
  readonly budget?: HedgeBudgetOptions | undefined;
  /** Asked when a hedge is due: true lets it start; anything else denies it, as does a throw. Default: none. */
  readonly gate?: (() => boolean) | undefined;
  /** No hedge starts while 80 % of so many attempts, hedges not counted, are under way. Default: no limit. */
  readonly maxInFlight?: number | undefined;
}

/** What one call may say about hedging; the rest belongs to the source. */
export interface HedgeOverride {
  /**
   * How long an attempt may be late before another one is started beside it, in milliseconds: above 0 and below the
   * timeout. `"auto"` is the latency's `quantile`. Default: the priority's; without one `"auto"`.
   */
  readonly delayMs?: number | "auto" | undefined;
  /** What `"auto"` waits while it knows too little, in milliseconds. Default: the priority's delay; without one 200. */
  readonly initialDelayMs?: number | undefined;
  /** How many hedges a call may have. Default 1. */
  readonly maxHedges?: number | undefined;
  /** Whether the attempts that lost are aborted. Default true. */
  readonly cancelLoser?: boolean | undefined;
}

/** A hedge was started. */
export interface HedgeStarted {
  /** Name of the source. */
  readonly source: string;
  /** Number of the new attempt, from 1. */
  readonly attempt: number;
  /** Its endpoint's place, from 0. */
  readonly endpoint: number;
  /** Milliseconds since the call began. */
  readonly afterMs: number;
}

/** Options of `httpSource()`. */
export interface HttpSourceOptions<Args extends any[]> extends SourcePolicies {
  /** Where the service can be reached, in order of preference: `http:` or `https:` URLs, with a path or without one. */
  readonly endpoints: readonly (string | URL)[];
  /** Default `GET`. GET and HEAD are idempotent; others are when `idempotent` says so. */
  readonly method?: string | undefined;
  /** Is put after an endpoint's URL, with its query: the same for each call, or made of its arguments. Default: nothing. */
  readonly path?: string | ((...args: Args) => string) | undefined;
  /** The same for each call, or made of its arguments, anew for each attempt. Default: none. */
  readonly headers?: HttpHeaders | ((...args: Args) => Awaitable<HttpHeaders>) | undefined;
  /**
   * The same for each call, or made of its arguments, anew for each attempt. A stream can be sent once: only the function
   * may answer one, and only when the source is not `idempotent`. Default: none.
   */
  readonly body?: HttpBody | ((...args: Args) => Awaitable<HttpBody | null | undefined>) | undefined;
  /**
   * Called with each attempt's request before it is sent, for what is bound to time or place, such as a signature. May
   * change its headers, or answer another request. The attempt's signal is put in the place of that request's own.
   */
  readonly beforeSend?: ((request: Request, ctx: SourceContext) => Awaitable<Request | undefined | void>) | undefined;
  /** Same as `failover.failOnStatuses`, which is before it. */
  readonly failOnStatuses?: readonly number[] | undefined;
}

/** Labels of an invalidation. */
export interface InvalidationMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** What kind of id was invalidated. */
  readonly keyType: string;
  /** Where. */
  readonly layer: CacheLayer;
}

/** What was counted of `invalidateRemote()` for one key type. */
export interface InvalidationStats {
  /** Invalidations asked of Redis. */
  readonly calls: number;
  /** Those that failed. */
  readonly failed: number;
}

/** How late the replies came that missed their read deadline. */
export interface LateReplyStats {
  /** How many replies. */
  readonly count: number;
  /** Milliseconds after the deadline; 0 when there was none. */
  readonly maxMs: number;
  /** Milliseconds after the deadline, rounded up to 1, 2, 5, ... 2000, but not above `maxMs`; null when there was none. */
  readonly p50Ms: number | null;
  /** Likewise. */
  readonly p99Ms: number | null;
}

/** One number per shared layer; a layer left out inherits, and is off when nothing is inherited. */
export interface LayerConfig {
  /** The process-local layer. */
  readonly local?: number | undefined;
  /** The Redis layer. */
  readonly remote?: number | undefined;
}

/** How often something happened at each layer. */
export interface LayerCounts {
  /** In an `enable()` scope. */
  readonly request_local: number;
  /** In the process. */
  readonly local: number;
  /** In Redis. */
  readonly remote: number;
}

/**
 * Where failures that callers never see are reported. `console` fits, and so do pino, winston and bunyan. A throw or
 * rejection is ignored.
 */
export interface Logger {
  /** Not called in this version. */
  debug(message: string, ...details: unknown[]): void;
  /** A failure that was survived: what happened, and the error. */
  warn(message: string, ...details: unknown[]): void;
  /** Not called in this version. */
  error(message: string, ...details: unknown[]): void;
}

/** Flights of this process that are not answered yet. */
export interface ProcessCoalescingState {
  /** Keys being loaded. */
  readonly activeLeaders: number;
  /** Calls waiting for one of them. */
  readonly activeFollowers: number;
  /** Age of the oldest, in milliseconds; null when there is none. */
  readonly oldestLeaderAgeMs: number | null;
}

/** Labels of a hedged read. */
export interface ReadHedgeMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** Name of what is computed. */
  readonly useCase: string;
  /** What kind of id the key holds. */
  readonly keyType: string;
  /**
   * `hit`: the read won after all. `outrun`: the source did, and the read is neither a hit nor a miss nor an error.
   * `source_error`: the source failed while the read was pending. `denied`: the budget let no source start.
   */
  readonly outcome: ReadHedgeOutcome;
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

/** Options of `new RedisClient()`. Standalone servers; Sentinel is not supported. */
export interface RedisClientOptions {
  /**
   * `redis://`, `rediss://` (TLS), or `unix://` with a socket's path; may hold user, password and database. Default: environment `REDIS_URL`, else
   * `redis://127.0.0.1:6379`.
   */
  readonly url?: string | undefined;
  /**
   * Some nodes of a cluster, instead of `url`; the others are found from there. Budgets count for each node.
   */
  readonly nodes?:
    | readonly (
        | string
        | {
            readonly host: string;
            readonly port?: number | undefined;
          }
      )[]
    | undefined;
  /** Turns TLS on, or refines that of a `rediss://` url. */
  readonly tls?: RedisTlsOptions | undefined;
  /** ACL user; wins over the url's. */
  readonly username?: string | undefined;
  /** Wins over the url's. */
  readonly password?: string | undefined;
  /** Asked before each connection attempt, for credentials that change. Instead of `username` and `password`. */
  readonly credentials?: (() => Awaitable<RedisCredentials>) | undefined;
  /** Database number. Default: the url's, else 0. */
  readonly database?: number | undefined;
  /** Name shown by `CLIENT LIST`: printable ASCII without spaces. */
  readonly clientName?: string | undefined;
  /** Budget of one connection attempt, from the host name to the first answer, in milliseconds. Default 2000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Silence after which a connection with a pending command is dead, in milliseconds. Default 2000. */
  readonly responseTimeoutMs?: number | undefined;
  /** Most commands pending at once, at least 1; more fail at once. Default 10,000. */
  readonly maxPending?: number | undefined;
  /** Most bytes of keys and payloads pending at once, at least 1; more fail at once. Default 64 MiB. */
  readonly maxPendingBytes?: number | undefined;
  /**
   * Waits between connection attempts, in milliseconds: a random time of at most `baseDelayMs`, doubled with each failure
   * up to `maxDelayMs`. Default `{ baseDelayMs: 50, maxDelayMs: 2000 }`.
   */
  readonly reconnect?:
    | {
        readonly baseDelayMs?: number | undefined;
        readonly maxDelayMs?: number | undefined;
      }
    | undefined;
}

/** What `RedisClient.stats()` returns. */
export interface RedisClientStats {
  /** What the client is doing about its connection. */
  readonly status: RedisClientStatus;
  /** Commands that hold a place of `maxPending`, timed-out reads without a reply included. */
  readonly pending: number;
  /** Bytes that hold a place of `maxPendingBytes`. */
  readonly pendingBytes: number;
  /** Connections opened after the first one. */
  readonly reconnects: number;
  /** Connection attempts that failed. */
  readonly failedAttempts: number;
  /** Kind of the last failure of a connection, an attempt or a command; null when there was none. */
  readonly lastErrorKind: string | null;
  /** Reads whose reply missed the deadline: what a longer deadline would have brought in. */
  readonly late: {
    /** Replies that held a value. */
    readonly hits: LateReplyStats;
    /** Replies without one. */
    readonly misses: LateReplyStats;
    /** Error replies. */
    readonly failed: number;
    /** Reads whose connection ended before the reply. */
    readonly lost: number;
  };
}

/** Who to log in as. */
export interface RedisCredentials {
  /** ACL user. Default: Redis's `default` user. */
  readonly username?: string | undefined;
  /** Its password. */
  readonly password: string;
}

/** Which entity to invalidate. */
export interface RedisInvalidationRequest {
  /** Its whole key in Redis. */
  readonly watermarkKey: string;
  /** How far beyond now values are refused, in milliseconds. */
  readonly futureBufferMs: number;
}

/** How long the caller waits. */
export interface RedisReadContext {
  /** The whole read deadline, in milliseconds. */
  readonly timeoutMs: number;
  /** Aborted with a `RedisReadTimeoutError` when the deadline passes, with a `DialCacheClosedError` by `close()`. */
  readonly signal: AbortSignal;
}

/** A payload together with the time it was written. */
export interface RedisReadHit {
  /** What `write()` was given: text as text, bytes as bytes. */
  readonly payload: RedisCachePayload;
  /** Milliseconds since the Unix epoch. */
  readonly createdAtMs: number;
}

/** Which value to read. */
export interface RedisReadRequest {
  /** Its whole key in Redis. */
  readonly valueKey: string;
  /** Given for tracked keys: read in the same atomic operation. */
  readonly watermarkKey?: string | undefined;
}

/** TLS of a native client. The system's roots are trusted unless `ca` is given. */
export interface RedisTlsOptions {
  /** Certificate authorities to trust instead of the system's, PEM. */
  readonly ca?: string | Buffer | readonly (string | Buffer)[] | undefined;
  /** Client certificate chain, PEM; together with `key`. */
  readonly cert?: string | Buffer | undefined;
  /** Private key of `cert`, PEM. */
  readonly key?: string | Buffer | undefined;
  /** Name the server's certificate must carry. Default: the host of the url. */
  readonly servername?: string | undefined;
  /** Default true. `false` accepts any certificate, and with it any listener in between. */
  readonly rejectUnauthorized?: boolean | undefined;
}

/** Which value to write. */
export interface RedisWriteRequest {
  /** Its whole key in Redis. */
  readonly valueKey: string;
  /** Given for tracked keys. */
  readonly watermarkKey?: string | undefined;
  /** Time to live, in milliseconds. */
  readonly cacheTtlMs: number;
  /** Must come back as it is: text as text, bytes as bytes. */
  readonly value: RedisCachePayload;
}

/** One more attempt, after a while, when an attempt failed for a transient reason. Needs `idempotent: true`. */
export interface RetryOptions {
  /** How many attempts a call may have, hedges and failovers included. Default: the priority's; without one 3. */
  readonly maxAttempts?: number | undefined;
  /** Upper bound of the first wait, in milliseconds: it is drawn from 0 to there, and doubles each time. Default 50. */
  readonly baseDelayMs?: number | undefined;
  /** Upper bound of every wait, in milliseconds. Default 1,000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Whether another attempt may not meet this error. Replaces the default: connection errors and `failOnStatuses`. One
   * that throws, or answers anything but true, makes the error fatal.
   */
  readonly isTransient?: ((error: unknown) => boolean) | undefined;
}

/** A retry was started. */
export interface RetryStarted {
  /** Name of the source. */
  readonly source: string;
  /** Number of the new attempt, from 1. */
  readonly attempt: number;
  /** Its endpoint's place, from 0. */
  readonly endpoint: number;
  /** How long it waited, in milliseconds. */
  readonly backoffMs: number;
}

/** Labels of a serializer's work. */
export interface SerializationMetricLabels extends CacheMetricLabels {
  /** Which of its methods. */
  readonly operation: "dump" | "load";
}

/** Turns values into what Redis stores and back. Both methods may be asynchronous. */
export interface Serializer<T> {
  /**
   * Called once per value written. A rejection leaves the value unwritten and the caller unaffected, as do text with an
   * unpaired surrogate and more bytes than Redis keeps under one key: 512 MiB less 11 bytes.
   */
  dump(value: T): Awaitable<string | Buffer>;
  /** Called once per Redis hit. A rejection makes it a miss: the source runs and its value replaces the payload. */
  load(payload: string | Buffer): Awaitable<T>;
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

/** Labels of a shadow comparison. */
export interface ShadowValidationMetricLabels {
  /** The instance's `namespace`. */
  readonly cacheNamespace: string;
  /** Name of what is computed. */
  readonly useCase: string;
  /** What kind of id the key holds. */
  readonly keyType: string;
  /** How it ended. */
  readonly outcome: ShadowValidationOutcome;
}

/**
 * A function made of several, with policies. It stands wherever a plain function may, in `cached()` and `getOrLoad()` too,
 * and is one itself: a call is `execute()` without options.
 */
export interface Source<Args extends any[], T> {
  (...args: Args): Promise<T>;
  /** Name it was given. */
  readonly name: string;
  /**
   * Calls it.
   * @returns The first usable result. Rejects with the attempt's own error when there was one attempt or the error is
   * fatal; {@link SourceAttemptsError} when several failed; {@link DeadlineExceededError}; {@link BreakerOpenError}; or the
   * `reason` of `options.signal`.
   * @throws TypeError or RangeError naming a bad option (as a rejection).
   */
  execute(options: ExecuteOptions, ...args: Args): Promise<T>;
  /** What was counted since it was made. */
  stats(): SourceStats;
}

/** Labels of an attempt of a source that ended. */
export interface SourceAttemptMetricLabels {
  /** Name of the source. */
  readonly source: string;
  /** Why it had been started. */
  readonly kind: AttemptKind;
  /** How it ended. */
  readonly outcome: AttemptOutcome;
}

/** What an attempt is given beside the arguments of its call. */
export interface SourceContext {
  /** Aborts when the attempt is not wanted any more: its `reason` says why. To be handed to whatever does the work. */
  readonly signal: AbortSignal;
  /** Number of the attempt in its call, from 1. */
  readonly attempt: number;
  /** Why it was started. */
  readonly kind: AttemptKind;
  /** Place of the endpoint in the list of the source, from 0. */
  readonly endpoint: number;
  /** The whole operation's, all attempts together; undefined when nothing bounds it. */
  readonly deadline: Deadline | undefined;
}

/** Told what a source does, in the call's own async context. A listener that throws or rejects is ignored. */
export interface SourceEvents {
  /** Told when a hedge is started. */
  readonly onHedge?: ((event: HedgeStarted) => void) | undefined;
  /** Told when a failover is started. */
  readonly onFailover?: ((event: FailoverStarted) => void) | undefined;
  /** Told when a retry is started. */
  readonly onRetry?: ((event: RetryStarted) => void) | undefined;
  /** Told when an attempt brought the result. */
  readonly onWinner?: ((event: AttemptWon) => void) | undefined;
}

/** Policies of a source. Each is off until it is named. */
export interface SourcePolicies extends SourceEvents {
  /** Stable name, for errors, figures and labels. */
  readonly name: string;
  /** Whether a call may be made twice without harm. Default false. */
  readonly idempotent?: boolean | undefined;
  /**
   * How long a call may take with all its attempts, in milliseconds: a whole number from 1 to 2,147,483,647. Default: the
   * priority's; without one there is no limit.
   */
  readonly timeoutMs?: number | undefined;
  /** Default: none, and none of its presets. */
  readonly priority?: SourcePriority | undefined;
  /** Default: off. */
  readonly hedge?: HedgeOptions | false | undefined;
  /** Default: off. */
  readonly failover?: FailoverOptions | false | undefined;
  /** Default: off. */
  readonly retry?: RetryOptions | false | undefined;
  /** Default: off. */
  readonly breaker?: BreakerOptions | false | undefined;
  /** Receives the source's counts, for sources that are used without a cache. Default: none. */
  readonly metrics?: DialCacheMetricsAdapter | undefined;
}

/** What `stats()` of a source returns: a detached snapshot. */
export interface SourceStats {
  /** Hedges by what happened to them. */
  readonly hedges: Readonly<Record<HedgeEvent, number>>;
  /** Attempts that ended, by what had started them and how they ended. */
  readonly attempts: Readonly<Record<AttemptKind, Readonly<Record<AttemptOutcome, number>>>>;
  /** Attempts started, by why. `primary` is the number of calls that reached an endpoint. */
  readonly started: Readonly<Record<AttemptKind, number>>;
  /** Hedges for each call. */
  readonly hedgeAttemptRate: number;
  /** Calls that a hedge answered, of all calls. */
  readonly hedgeWinRate: number;
  /** Hedges that won, of all hedges. */
  readonly hedgeRaceWinRatio: number;
  /** Attempts beyond the first of each call, for each call: what the policies cost the origin. */
  readonly originOverhead: number;
  /** What a call without options waits before it hedges, in milliseconds; null without `hedge`. */
  readonly hedgeDelayMs: number | null;
  /** Hedges that could start now; null without `hedge`. */
  readonly hedgeTokens: number | null;
  /** By endpoint; empty without `breaker`. */
  readonly breakers: readonly BreakerState[];
  /** Calls under way, those included that are answered while a loser runs on. */
  readonly pending: number;
  /** Running attempts, without hedges. */
  readonly inFlight: number;
  /** Timers that are set. */
  readonly timers: number;
}

/** What was counted of one use case since its instance was made. */
export interface UseCaseStats {
  /** What kind of id its keys hold. */
  readonly keyType: string;
  /** Lookups in layers that were on. */
  readonly requests: LayerCounts;
  /** Lookups that found a value. */
  readonly hits: LayerCounts;
  /** Lookups that found nothing usable. Failed reads are neither hits nor misses. */
  readonly misses: LayerCounts;
  /** Calls that skipped a layer. */
  readonly disabled: {
    readonly local: number;
    readonly remote: number;
  };
  /** The same by reason, and under `noop` calls that reached no layer. Reasons that never happened are left out. */
  readonly disabledReasons: {
    readonly noop: DisabledCounts;
    readonly local: DisabledCounts;
    readonly remote: DisabledCounts;
  };
  /** Failures by kind; kinds that never happened are left out. */
  readonly errors: Readonly<Partial<Record<MetricErrorKind, number>>>;
  /** Calls that joined a flight. */
  readonly coalesced: {
    readonly process: number;
    readonly request_local: number;
  };
  /** Read deadlines armed: one for each leader that really read Redis. */
  readonly readDeadlinesArmed: number;
  /** Reads given up at their deadline. */
  readonly readTimeouts: number;
  /** Reads that failed otherwise: Redis could not be asked, or answered with an error. */
  readonly readFailures: number;
  /** Payloads the serializer rejected: misses. */
  readonly loadFailures: number;
  /** Values the serializer could not dump, which were therefore not written. */
  readonly dumpFailures: number;
  /** Reads beside which the source was started, or would have been: see `readHedge`. */
  readonly readHedge: {
    /** The read brought a value first. */
    readonly hits: number;
    /** The source did. */
    readonly outruns: number;
    /** The source failed while the read was pending. */
    readonly sourceErrors: number;
    /** The budget let no source start. */
    readonly denied: number;
  };
  /** Sources given up at their deadline. */
  readonly fallbackTimeouts: number;
  /** Source runs of calls in an enabled scope that threw or rejected in time. */
  readonly fallbackFailures: number;
  /** Source runs begun, without those for a comparison only. */
  readonly sourceCalls: number;
  /** Values meant for Redis. */
  readonly writes: {
    /** Taken by the server. */
    readonly ok: number;
    /** Refused because the id had been invalidated. */
    readonly fenced: number;
    readonly failed: number;
    /** Kept back because the read had failed. */
    readonly skipped: number;
  };
  /** Shadow validations by outcome; outcomes that never happened are left out. */
  readonly shadow: Readonly<Partial<Record<ShadowValidationOutcome, number>>>;
  /** Payloads by what became of them in the compressor; outcomes that never happened are left out. */
  readonly compression: Readonly<Partial<Record<CompressionOutcome, number>>>;
}

/** Any function. */
export type AnyFunction = (...args: never[]) => unknown;

/** Why an attempt was started. */
export type AttemptKind = "primary" | "hedge" | "failover" | "retry";

/** How an attempt ended: `timeout` at the operation's deadline, `cancelled` because it was not wanted any more. */
export type AttemptOutcome = "ok" | "error" | "timeout" | "cancelled";

/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/**
 * A breaker for each endpoint: it opens when half of at least 20 calls in 10 s have failed, for 5 s, doubling up to 60 s
 * while its one probe fails. It has no options.
 */
export type BreakerOptions = Readonly<Record<string, never>>;

/** What an endpoint's breaker does: let everything through, nothing, or one probe. */
export type BreakerState = "closed" | "open" | "half_open";

/** Policy of one key, laid over `defaultConfig` leaf by leaf; null lays nothing over it. */
export type CacheConfigProvider = (key: DialCacheKey) => Awaitable<DialCacheKeyConfig | null>;

/** What identifies a result within its use case. `1`, `"1"` and `1n` are the same id. */
export type CacheKeySpec =
  | string
  | number
  | bigint
  | {
      readonly id: string | number | bigint;
      readonly args?: KeyArgs | undefined;
    };

export type CacheLayer = (typeof CacheLayer)[keyof typeof CacheLayer];

/** `Fn` with the same parameters; its result always comes as a promise. */
export type CachedFn<Fn extends AnyFunction> = (...args: Parameters<Fn>) => Promise<CachedValue<Fn>>;

/** Options of `cached()`. */
export type CachedOptions<Fn extends AnyFunction> = UseCaseOptions & {
  /** Picks id and further dimensions from the arguments: everything that can change the result. */
  readonly cacheKey: (...args: Parameters<Fn>) => CacheKeySpec;
} & SerializerOption<CachedValue<Fn>> &
  ShadowOptions<CachedValue<Fn>>;

/** What a function's result is once awaited. */
export type CachedValue<Fn extends AnyFunction> = Awaited<ReturnType<Fn>>;

/** Whose flight a follower joined. */
export type CoalescingScope = "request_local" | "process";

/** What became of a payload on its way through the compressor. */
export type CompressionOutcome =
  | "compressed"
  | "below_threshold"
  | "not_smaller"
  | "write_over_limit"
  | "decompressed"
  | "fallback_raw"
  | "read_over_limit";

/** Skipped lookups by reason. */
export type DisabledCounts = Readonly<Partial<Record<DisabledReason, number>>>;

/** Why a layer, or the whole call, was skipped. */
export type DisabledReason =
  | "context"
  | "policy_disabled"
  | "invalid_ttl"
  | "invalid_ramp"
  | "ramped_down"
  | "config_error";

/** Which of the other endpoints comes next: in their order, in turn, or any. */
export type FailoverPolicy = "sequential" | "round-robin" | "random";

/** Options of `getOrLoad()`. */
export type GetOrLoadOptions<V> = UseCaseOptions & {
  /** Id and further dimensions: everything that can change the result. */
  readonly key: CacheKeySpec;
} & SerializerOption<V> &
  ShadowOptions<V>;

/** What happened to a hedge. */
export type HedgeEvent =
  | "started"
  | "won"
  | "lost"
  | "failed"
  | "denied_budget"
  | "denied_gate"
  | "denied_breaker"
  | "denied_deadline";

/** What `fetch` takes as a body. */
export type HttpBody = NonNullable<RequestInit["body"]>;

/** What `fetch` takes as headers. */
export type HttpHeaders = NonNullable<RequestInit["headers"]>;

/** Further dimensions of a key, by name; an `undefined` one is left out. */
export type KeyArgs = Readonly<Record<string, KeyScalar>>;

/** A value that has one text form. */
export type KeyScalar = string | number | bigint | boolean | null | undefined;

/** How the local layer chooses what to evict: least recently used, or scan-resistant. */
export type LocalPolicy = "lru" | "tinyLfu";

/** Where something failed: never an error's name, class or message. */
export type MetricErrorKind =
  | "key_construction"
  | "config_resolution"
  | "cache_read"
  | "cache_write"
  | "serialization_load"
  | "serialization_dump"
  | "compression"
  | "invalidation"
  | "fallback"
  | "unknown";

/** Layer a call reached; `noop` when none was. */
export type MetricLayer = CacheLayer | "request_local" | "remote_shadow" | "noop";

/** What became of a read that was hedged, or would have been. */
export type ReadHedgeOutcome = "hit" | "outrun" | "source_error" | "denied";

/** What a serializer produced: text or bytes. */
export type RedisCachePayload = string | Buffer;

/** What a client is doing about its connection. */
export type RedisClientStatus = "connecting" | "ready" | "reconnecting" | "closed";

/** The Redis layer, on a client of yours or on one the instance owns. */
export type RedisConfig = RedisConfigBase &
  (
    | {
        /** A client you own: never connected, drained or closed here. */
        readonly client: DialCacheRedisClient;
        readonly url?: undefined;
      }
    | {
        readonly client?: undefined;
        /** Where the instance's own client connects. Default: environment `REDIS_URL`, else `redis://127.0.0.1:6379`. */
        readonly url?: string | undefined;
      }
  );

/**
 * How the shadow validation of a sampled call ended.
 * - `match`: Redis and source agree.
 * - `mismatch`: they differ, and Redis, read once more, still held the same bytes.
 * - `superseded`: they differ, but Redis then held other bytes, or none.
 * - `filled`: Redis held nothing, and took the source's value.
 * - `fill_blocked`: it was not filled, because the id had been invalidated.
 * - `fill_error`: it was not filled, because serializing or writing failed.
 * - `redis_error`: Redis could not be read in time.
 * - `source_error`: the source failed or timed out.
 * - `deserialization_error`: the serializer rejected the payload, which stays as it is.
 * - `comparison_error`: the comparator threw, or did not return a boolean.
 * - `confirmation_error`: the values differ, and Redis could not be read once more.
 * - `timeout`: all that took longer than `fallbackTimeoutMs`.
 * - `dropped`: `shadowMaxInFlight` were under way, or one of the same key.
 */
export type ShadowValidationOutcome =
  | "match"
  | "mismatch"
  | "superseded"
  | "filled"
  | "fill_blocked"
  | "fill_error"
  | "redis_error"
  | "source_error"
  | "deserialization_error"
  | "comparison_error"
  | "confirmation_error"
  | "timeout"
  | "dropped";

/** One endpoint of a source. */
export type SourceFunction<Args extends any[], T> = (ctx: SourceContext, ...args: Args) => Awaitable<T>;

/** Options of `source()`. */
export type SourceOptions = SourcePolicies;

/** How urgent a call is: presets for what neither the call nor its source names. It turns no policy on. */
export type SourcePriority = "high" | "normal" | "low";

interface JsonArray<Element> extends ReadonlyArray<JsonForm<Element>> {}

interface RedisConfigBase {
  /**
   * How long a call waits for a Redis read before its source runs, in milliseconds: a whole number from 1 to
   * 2,147,483,647. Required: only the application knows what its callers can wait.
   */
  readonly readTimeoutMs: number;
  /** Serializer of use cases without one of their own. Default `JsonSerializer`. */
  readonly serializer?: Serializer<unknown> | undefined;
  /** Default `{ thresholdBytes: 4096, level: 3 }`; `false` turns it off. */
  readonly compression?: CompressionConfig | false | undefined;
}

interface ShadowOptions<V> {
  /**
   * Whether a value from Redis and one from the source are equal: synchronous, and free to ignore what may differ. A
   * throw, or anything but a boolean, is the outcome `comparison_error`. Default `util.isDeepStrictEqual`.
   */
  readonly shadowComparator?: ((cached: V, source: V) => boolean) | undefined;
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

type IsJsonCompatible<V> = unknown extends V ? false : [NonVoid<V>] extends [JsonForm<NonVoid<V>>] ? true : false;

type IsOpaque<T> = (<X>() => X extends T ? 1 : 2) extends <X>() => X extends object ? 1 : 2 ? true : false;

type JsonForm<T> = unknown extends T
  ? never
  : T extends JsonPrimitive
    ? T
    : T extends bigint | symbol | ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)
      ? never
      : T extends readonly (infer Element)[]
        ? MayBeUndefined<Element> extends true
          ? never
          : JsonArray<Element>
        : IsOpaque<T> extends true
          ? never
          : {
              [Key in keyof T]: JsonMember<T, Key>;
            };

type JsonMember<T, Key extends keyof T> =
  {} extends Pick<T, Key>
    ? JsonForm<Exclude<T[Key], undefined>> | undefined
    : MayBeUndefined<T[Key]> extends true
      ? never
      : JsonForm<T[Key]>;

type JsonPrimitive = string | number | boolean | null;

type MayBeUndefined<T> = undefined extends string ? false : undefined extends T ? true : false;

type NonVoid<V> = Exclude<V, undefined | void>;

type PlainBuffer = ReturnType<typeof Buffer.alloc>;

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

export {};
