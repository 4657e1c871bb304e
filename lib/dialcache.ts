import { installedClock } from "./clock";
import { DialCacheContext } from "./context";
import { UseCaseIsAlreadyRegisteredError } from "./errors";
import { Instance } from "./instance";
import { invalidate } from "./invalidation";
import { guardLogger } from "./logger";
import { Operations } from "./operation";
import type { Place } from "./option-reader";
import { integer, MAX_TIMEOUT_MS, optionNames, readOptions, undefinedOr } from "./option-reader";
import {
  CACHED_PLACE,
  GET_OR_LOAD_PLACE,
  type ResolvedRedis,
  resolveCachedOptions,
  resolveDialCacheOptions,
  resolveGetOrLoadOptions,
} from "./options";
import { type Call, plainCall } from "./plain-call";
import { nativeOf, RedisClient } from "./redis-client";
import type { RemoteLayer } from "./remote-layer";
import type { Awaitable } from "./serializer";
import { callableOf, sourceCallOf } from "./source-call";
import type { SourcePriority } from "./source-types";
import { coalescingState, type DialCacheStats, snapshot } from "./stats";
import type { AnyFunction, CachedFn, CachedOptions, CoalescingState, DialCacheConfig, GetOrLoadOptions } from "./types";
import { UseCase } from "./use-case";

/** Whether an answer is a hit and nothing else: its number is then the slot's. */
const PLAIN_HIT = 1 << 27;

/**
 * Caches the results of functions: for one request, in this process, and in Redis or Valkey. Off until `enable()`. No
 * failure or delay of the cache reaches a caller: its source runs instead.
 */
export class DialCache {
  readonly #context = new DialCacheContext();
  readonly #instance: Instance;
  readonly #operations: Operations;
  readonly #registered = new Set<string>();
  /** The client this instance made, and therefore closes. */
  readonly #owned: RedisClient | undefined;

  /** @throws TypeError or RangeError naming a bad option. */
  constructor(config: DialCacheConfig = {}) {
    const options = resolveDialCacheOptions(config);
    const owned = ownedClient(options.redis);
    const logger = guardLogger(options.logger);
    this.#owned = owned;
    try {
      this.#instance = new Instance(options, remoteLayer(options.redis, owned), installedClock(), logger);
    } catch (error) {
      owned?.close();
      throw error;
    }
    this.#operations = new Operations(this.#instance);
  }

  /** Runs `fn` with caching on, for it and the asynchronous work it awaits. Scopes nest. */
  enable<T>(fn: () => Awaitable<T>): Promise<T> {
    return this.#context.enable(fn);
  }

  /** Runs `fn` with caching off. Nothing stored is dropped. */
  disable<T>(fn: () => Awaitable<T>): Promise<T> {
    return this.#context.disable(fn);
  }

  /** Same as {@link DialCache.enable}. */
  withEnabled<T>(fn: () => Awaitable<T>): Promise<T> {
    return this.#context.enable(fn);
  }

  /** Same as {@link DialCache.disable}. */
  withDisabled<T>(fn: () => Awaitable<T>): Promise<T> {
    return this.#context.disable(fn);
  }

  /** Whether caching is on for the running asynchronous call chain. */
  isEnabled(): boolean {
    return this.#context.isEnabled();
  }

  /**
   * Wraps `fn` so that calls in an enabled scope are cached. The name `useCase` can be registered once per instance.
   * @throws TypeError or RangeError naming a bad option, UseCaseIsAlreadyRegisteredError, UseCaseNameIsReservedError.
   */
  cached<Fn extends AnyFunction>(fn: Fn, options: CachedOptions<Fn>): CachedFn<Fn> {
    requireFunction(fn, "cached()");
    const resolved = resolveCachedOptions(options, this.#instance.remote?.readTimeoutMs);
    if (this.#registered.has(resolved.useCase)) throw new UseCaseIsAlreadyRegisteredError(resolved.useCase);
    const target = this.#callable(fn, resolved.priority, CACHED_PLACE);
    const operation = this.#operations.get(resolved.keyType, resolved.useCase, resolved.trackForInvalidation);
    const useCase = new UseCase(this.#instance, operation, resolved);
    const lookup = useCase.lookup();
    this.#registered.add(resolved.useCase);

    const context = this.#context;
    const { slots } = this.#instance;
    const cacheKey = resolved.cacheKey as (...args: unknown[]) => unknown;
    return function (this: unknown, ...args: unknown[]): Promise<unknown> {
      const scope = context.current();
      if (scope === undefined) {
        operation.recorder.outOfContext();
        return plainCall({ fn: target, self: this, args });
      }
      try {
        let spec: unknown;
        try {
          spec = cacheKey(...args);
        } catch (error) {
          return useCase.keyFailed(error, { fn: target, self: this, args });
        }
        if (lookup === undefined || typeof spec !== "string")
          return useCase.call(scope, spec, { fn: target, self: this, args });
        const answer = lookup(spec);
        if (answer < PLAIN_HIT) return slots[answer] as Promise<unknown>;
        return useCase.follow(answer, undefined, { fn: target, self: this, args });
      } catch (error) {
        return useCase.broken(error, { fn: target, self: this, args });
      }
    } as CachedFn<Fn>;
  }

  /**
   * One call of `load` through the cache, for what is computed in one place only. Registers nothing; calls of one
   * `useCase` and `key` must agree on what the value means.
   * @throws TypeError or RangeError naming a bad option, synchronously; UseCaseNameIsReservedError.
   */
  getOrLoad<V>(load: () => Awaitable<V>, options: GetOrLoadOptions<V>): Promise<V> {
    requireFunction(load, "getOrLoad()");
    const resolved = resolveGetOrLoadOptions(options, this.#instance.remote?.readTimeoutMs);
    const scope = this.#context.current();
    const operation = this.#operations.get(resolved.keyType, resolved.useCase, resolved.trackForInvalidation);
    const call: Call = { fn: this.#callable(load, resolved.priority, GET_OR_LOAD_PLACE), self: undefined, args: [] };
    if (scope === undefined) {
      operation.recorder.outOfContext();
      return plainCall(call) as Promise<V>;
    }
    const useCase = new UseCase(this.#instance, operation, resolved);
    try {
      return useCase.call(scope, resolved.key, call) as Promise<V>;
    } catch (error) {
      return useCase.broken(error, call) as Promise<V>;
    }
  }

  /**
   * Bars what was cached for an id, in Redis and in this process: its tracked entries, of every use case and with any
   * arguments. To be called after the change at the source has been committed. Idempotent.
   * @param futureBufferMs - How long after now values are still refused, in milliseconds: a whole number from 0 to
   * 31,536,000,000. At least as long as a load that began before the change may take to write its value.
   * @throws TypeError without Redis, DialCacheClosedError after `close()`, DialCacheKeyError for a key type or id that
   * cannot be part of a tracked key, and whatever the Redis client rejects with.
   */
  async invalidateRemote(keyType: string, id: string | number | bigint, futureBufferMs = 0): Promise<void> {
    await invalidate(this.#instance, keyType, id, futureBufferMs);
  }

  /** The flights of this instance that are not answered yet. */
  getCoalescingState(): CoalescingState {
    return coalescingState(this.#instance);
  }

  /** What was counted since this instance was made. */
  stats(): DialCacheStats {
    return snapshot(this.#instance);
  }

  /**
   * Waits for background writes: of values that calls brought, and of those a shadow validation may still fill Redis
   * with. Not for comparisons.
   * @param options - `timeoutMs`: how long, in milliseconds. Default 10,000.
   * @returns True when none is pending any more, false when the time was over.
   */
  async drain(options: { readonly timeoutMs?: number | undefined } = {}): Promise<boolean> {
    const place = { api: "drain()", path: "" };
    const { timeoutMs } = readOptions(options, place, DRAIN);
    const limit = integer(undefinedOr(timeoutMs, DRAIN_MS), place, "timeoutMs", {
      min: 0,
      max: MAX_TIMEOUT_MS,
      unit: "milliseconds",
    });
    return await this.#instance.drain(limit);
  }

  /**
   * Turns the Redis layer off: pending reads fail open, and calls go on with the local layer and their source. A client
   * this instance made is closed; one that was given is not. Later calls do nothing.
   */
  close(): Promise<void> {
    this.#instance.close();
    this.#owned?.close();
    return Promise.resolve();
  }

  /** What a use case calls; a source among them is counted here from now on. */
  #callable(fn: AnyFunction, priority: SourcePriority | undefined, place: Place): AnyFunction {
    const callable = callableOf(fn, priority, place);
    const source = callable === fn ? undefined : sourceCallOf(callable);
    if (source !== undefined) this.#instance.sources.add(source.core);
    return callable;
  }

  /** Waits up to a second for background writes, then closes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#instance.drain(DISPOSE_DRAIN_MS);
    await this.close();
  }
}

const DRAIN = optionNames("timeoutMs");
const DRAIN_MS = 10_000;
const DISPOSE_DRAIN_MS = 1_000;

function requireFunction(fn: unknown, method: string): void {
  if (typeof fn !== "function")
    throw new TypeError(`${method} takes a function, got ${fn === null ? "null" : typeof fn}`);
}

function ownedClient(redis: ResolvedRedis | undefined): RedisClient | undefined {
  return redis?.url === undefined ? undefined : new RedisClient({ url: redis.url });
}

function remoteLayer(redis: ResolvedRedis | undefined, owned: RedisClient | undefined): RemoteLayer | undefined {
  const client = owned ?? redis?.client;
  if (redis === undefined || client === undefined) return undefined;
  const { readTimeoutMs, serializer, compression } = redis;
  return { client, native: nativeOf(client) !== undefined, readTimeoutMs, serializer, compression };
}
