import type { Awaitable, Serializer } from "./serializer";

/** What a serializer produced: text or bytes. */
export type RedisCachePayload = string | Buffer;

/** Which value to read. */
export interface RedisReadRequest {
  /** Its whole key in Redis. */
  readonly valueKey: string;
  /** Given for tracked keys: read in the same atomic operation. */
  readonly watermarkKey?: string | undefined;
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

/** Which entity to invalidate. */
export interface RedisInvalidationRequest {
  /** Its whole key in Redis. */
  readonly watermarkKey: string;
  /** How far beyond now values are refused, in milliseconds. */
  readonly futureBufferMs: number;
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

/** zstd compression of Redis payloads. */
export interface CompressionConfig {
  /** Smallest payload that is compressed, in bytes. Default 4096. */
  readonly thresholdBytes?: number | undefined;
  /** zstd level, 1 to 22. Default 3. */
  readonly level?: number | undefined;
}

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

/** Who to log in as. */
export interface RedisCredentials {
  /** ACL user. Default: Redis's `default` user. */
  readonly username?: string | undefined;
  /** Its password. */
  readonly password: string;
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
  readonly nodes?: readonly (string | { readonly host: string; readonly port?: number | undefined })[] | undefined;
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
    | { readonly baseDelayMs?: number | undefined; readonly maxDelayMs?: number | undefined }
    | undefined;
}
