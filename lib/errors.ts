/** Brand of each class of this file; a subclass written by a user has none and is matched by its prototype. */
const brands = new WeakMap<object, symbol>();

/**
 * Base of this package's error classes. `instanceof` compares a brand instead of the prototype, so it also holds between
 * two copies of the package in one process (ESM beside CommonJS, or two versions). A bad option is no such error but a
 * TypeError or RangeError with the code `DIALCACHE_INVALID_OPTION`, and its `option`'s name.
 *
 * No message ever contains a cache key, an id or an argument.
 */
export class DialCacheError extends Error {
  /** Stable identifier of the kind of error, for logs and `switch`. */
  readonly code: string = "DIALCACHE_ERROR";

  /** Name, code, message and the fields of the class; neither stack nor cause, which may hold anything. */
  toJSON(): Record<string, unknown> {
    return Object.assign<Record<string, unknown>, this>({ name: this.name, message: this.message }, this);
  }
}

/** The Redis read of a leader took longer than its read deadline. Logged and counted; the caller gets the source's value. */
export class RedisReadTimeoutError extends DialCacheError {
  override readonly code = "DIALCACHE_REDIS_READ_TIMEOUT";

  constructor(
    /** Use case whose read timed out. */
    readonly useCase: string,
    /** The read deadline, in milliseconds. */
    readonly timeoutMs: number,
    options?: ErrorOptions,
  ) {
    super(`Redis read of use case ${JSON.stringify(useCase)} did not settle within ${timeoutMs} ms`, options);
  }
}

/** The source took longer than `fallbackTimeoutMs`: rejects the leader and its followers. */
export class FallbackTimeoutError extends DialCacheError {
  override readonly code = "DIALCACHE_FALLBACK_TIMEOUT";
  /** HTTP status a web framework may answer with. */
  readonly status = 504;

  constructor(
    /** Use case whose source timed out. */
    readonly useCase: string,
    /** The source's deadline, in milliseconds. */
    readonly timeoutMs: number,
    options?: ErrorOptions,
  ) {
    super(`Source of use case ${JSON.stringify(useCase)} did not settle within ${timeoutMs} ms`, options);
  }
}

/** `cached()` was given a `useCase` that this instance already has. */
export class UseCaseIsAlreadyRegisteredError extends DialCacheError {
  override readonly code = "DIALCACHE_USE_CASE_ALREADY_REGISTERED";

  constructor(
    /** The name that was given twice. */
    readonly useCase: string,
    options?: ErrorOptions,
  ) {
    super(`Use case ${JSON.stringify(useCase)} is already registered on this DialCache instance`, options);
  }
}

/** The `useCase` is a name this package keeps for itself (`watermark`). */
export class UseCaseNameIsReservedError extends DialCacheError {
  override readonly code = "DIALCACHE_USE_CASE_RESERVED";

  constructor(
    /** The reserved name. */
    readonly useCase: string,
    options?: ErrorOptions,
  ) {
    super(`Use case name ${JSON.stringify(useCase)} is reserved`, options);
  }
}

/** A key could not be built from what the key selector returned; the source runs uncached. */
export class DialCacheKeyError extends DialCacheError {
  override readonly code = "DIALCACHE_KEY";
}

/** A client answered a read with something that is not a payload. */
export class DialCacheRedisPayloadError extends DialCacheError {
  override readonly code = "DIALCACHE_REDIS_PAYLOAD";

  constructor(message = "Redis client returned an invalid payload", options?: ErrorOptions) {
    super(message, options);
  }
}

/** A frame names a payload encoding this version does not know. */
export class DialCacheRedisPayloadEncodingError extends DialCacheError {
  override readonly code = "DIALCACHE_REDIS_PAYLOAD_ENCODING";

  constructor(message = "Redis frame has an unknown payload encoding", options?: ErrorOptions) {
    super(message, options);
  }
}

/** A client answered a write or an invalidation with something outside the protocol. */
export class DialCacheRedisProtocolError extends DialCacheError {
  override readonly code = "DIALCACHE_REDIS_PROTOCOL";

  constructor(message = "Redis client returned an invalid reply", options?: ErrorOptions) {
    super(message, options);
  }
}

/** The placeholder of a tracked write was gone before it could be stamped. */
export class DialCacheRedisPlaceholderLostError extends DialCacheError {
  override readonly code = "DIALCACHE_REDIS_PLACEHOLDER_LOST";

  constructor(message = "Placeholder of a tracked write was lost before it was stamped", options?: ErrorOptions) {
    super(message, options);
  }
}

/** The native client could not carry out a command. */
export class DialCacheRedisError extends DialCacheError {
  override readonly code = "DIALCACHE_REDIS";

  constructor(
    /** Stable kind of the failure, as in `stats()`. */
    readonly kind: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The instance or client was closed. */
export class DialCacheClosedError extends DialCacheError {
  override readonly code = "DIALCACHE_CLOSED";

  constructor(message = "DialCache is closed", options?: ErrorOptions) {
    super(message, options);
  }
}

/** An operation's time was up: of a {@link Deadline}'s step, or of a source's call. Rejects the step or the call. */
export class DeadlineExceededError extends DialCacheError {
  override readonly code = "DIALCACHE_DEADLINE_EXCEEDED";
  /** HTTP status a web framework may answer with. */
  readonly status = 504;

  constructor(
    /** What the operation was given, in milliseconds: for all of its steps together. */
    readonly timeoutMs: number,
    /** Step that was under way or could not begin, a source's name for its calls; undefined when there was none. */
    readonly step: string | undefined,
    options?: ErrorOptions,
  ) {
    const during = step === undefined ? "" : ` during step ${JSON.stringify(step)}`;
    super(`Deadline of ${timeoutMs} ms was exceeded${during}`, options);
  }
}

/** Reason of the signal of an attempt that is not needed any more: another one was faster. Never rejects a call. */
export class HedgeLostError extends DialCacheError {
  override readonly code = "DIALCACHE_HEDGE_LOST";

  constructor(message = "Another attempt brought the result", options?: ErrorOptions) {
    super(message, options);
  }
}

/** No endpoint of a source could be called: the breaker of each is open. Rejects the call. */
export class BreakerOpenError extends DialCacheError {
  override readonly code = "DIALCACHE_BREAKER_OPEN";
  /** HTTP status a web framework may answer with. */
  readonly status = 503;

  constructor(
    /** Name of the source. */
    readonly source: string,
    options?: ErrorOptions,
  ) {
    super(`Breaker of source ${JSON.stringify(source)} is open`, options);
  }
}

/** An endpoint of an `httpSource()` answered with one of `failOnStatuses`. Its body was not read. */
export class HttpStatusError extends DialCacheError {
  override readonly code = "DIALCACHE_HTTP_STATUS";

  constructor(
    /** Name of the source. */
    readonly source: string,
    /** Place of the endpoint among the source's, from 0. */
    readonly endpoint: number,
    /** Status of the answer. */
    readonly status: number,
    options?: ErrorOptions,
  ) {
    super(`Endpoint ${endpoint} of source ${JSON.stringify(source)} answered with status ${status}`, options);
  }
}

/**
 * Several attempts of a source's call failed. `errors` holds the error of each, in the order of the attempts, and `cause`
 * is the first attempt's. An AggregateError, and a {@link DialCacheError} to `instanceof`.
 */
export class SourceAttemptsError extends AggregateError {
  /** Stable identifier of the kind of error. */
  readonly code = "DIALCACHE_SOURCE_ATTEMPTS";

  constructor(
    errors: Iterable<unknown>,
    /** Name of the source. */
    readonly source: string,
    options?: ErrorOptions,
  ) {
    const all = [...errors];
    super(all, `All ${all.length} attempts of source ${JSON.stringify(source)} failed`, { cause: all[0], ...options });
  }

  /** Name, code, message and source; neither the stack nor the attempts' errors, which may hold anything. */
  toJSON(): Record<string, unknown> {
    return Object.assign<Record<string, unknown>, this>({ name: this.name, message: this.message }, this);
  }
}

function hasInstance(this: object, value: unknown): boolean {
  const brand = brands.get(this);
  if (brand === undefined) return Function.prototype[Symbol.hasInstance].call(this as never, value);
  return typeof value === "object" && value !== null && brand in value;
}

// Inherited by the other classes and by a user's: `this` is whatever stands on the right of instanceof.
for (const root of [DialCacheError, SourceAttemptsError]) {
  Object.defineProperty(root, Symbol.hasInstance, { value: hasInstance });
}

const classes = {
  DialCacheError,
  RedisReadTimeoutError,
  FallbackTimeoutError,
  UseCaseIsAlreadyRegisteredError,
  UseCaseNameIsReservedError,
  DialCacheKeyError,
  DialCacheRedisPayloadError,
  DialCacheRedisPayloadEncodingError,
  DialCacheRedisProtocolError,
  DialCacheRedisPlaceholderLostError,
  DialCacheRedisError,
  DialCacheClosedError,
  DeadlineExceededError,
  HedgeLostError,
  BreakerOpenError,
  HttpStatusError,
  SourceAttemptsError,
};

for (const [name, errorClass] of Object.entries(classes)) {
  const brand = Symbol.for(`dialcache-native.${name}`);
  brands.set(errorClass, brand);
  Object.defineProperty(errorClass.prototype, brand, { value: true });
  // On the prototype and spelled out: a bundler may rename the class, and an own field would clutter every log line.
  Object.defineProperty(errorClass.prototype, "name", { value: name, writable: true, configurable: true });
}

// It has another base already: as a DialCacheError it is known by the brand alone.
Object.defineProperty(SourceAttemptsError.prototype, brands.get(DialCacheError) as symbol, { value: true });
