import { EventEmitter } from "node:events";
import {
  DialCacheClosedError,
  DialCacheRedisError,
  DialCacheRedisPayloadEncodingError,
  DialCacheRedisPayloadError,
  DialCacheRedisPlaceholderLostError,
} from "./errors";
import { addClient, type ClientListener, expectCall, hub, nextCall } from "./hub";
import { type Failure, LOAD, MISS, type NativeClient, TIMED_OUT, WRITE_FAILED, WRITTEN } from "./native";
import { invalid, optionNames, readOptions } from "./option-reader";
import { type ResolvedRedisClientOptions, type ResolvedTls, resolveRedisClientOptions } from "./options";
import { timeoutMs } from "./redis-options";
import type {
  DialCacheRedisClient,
  RedisCachePayload,
  RedisClientOptions,
  RedisInvalidationRequest,
  RedisReadContext,
  RedisReadRequest,
  RedisWriteRequest,
} from "./redis-types";

/** What a client is doing about its connection. */
export type RedisClientStatus = "connecting" | "ready" | "reconnecting" | "closed";

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

const READY = optionNames("timeoutMs");

// Beside the class, so that its type stays structural and no member shows the connection's options.
const natives = new WeakMap<RedisClient, NativeClient>();

/** The native half of a client of this copy of the package. */
export function nativeOf(client: unknown): NativeClient | undefined {
  return typeof client === "object" && client !== null ? natives.get(client as RedisClient) : undefined;
}

/**
 * A connection to a Redis or Valkey server whose sockets, parsing and deadlines live on a native thread. It connects in
 * the background, keeps itself up, and never keeps an otherwise idle process alive. Single servers over TCP, TLS or a
 * unix socket, and clusters; Sentinel is not supported.
 *
 * Emits `"status"` with each new {@link RedisClientStatus}.
 */
export class RedisClient extends EventEmitter<{ status: [RedisClientStatus] }> implements DialCacheRedisClient {
  /** Never throws for a server that cannot be reached. @throws TypeError or RangeError naming a bad option. */
  constructor(options: RedisClientOptions = {}) {
    super();
    const resolved = resolveRedisClientOptions(options);
    const native = connect(resolved);
    natives.set(this, native);
    addClient(native.id(), new Listener(this, native, resolved.credentials));
  }

  /** What the client is doing about its connection. */
  get status(): RedisClientStatus {
    return native(this).status() as RedisClientStatus;
  }

  /**
   * Waits for a connection, however many attempts it takes.
   * @param options - `timeoutMs`: how long, in milliseconds; without it as long as the client is open.
   * @throws DialCacheRedisError when the time is over, DialCacheClosedError when the client is closed.
   */
  async ready(options: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    const place = { api: "ready()", path: "" };
    const { timeoutMs: given } = readOptions(options, place, READY);
    const limit = given === undefined ? undefined : timeoutMs(given, place, "timeoutMs");
    return await submit((call) => native(this).ready(call, limit), done);
  }

  /**
   * The payload stored under a key, or null. A Buffer comes as it is stored, compressed or not.
   * @param context - `timeoutMs`: how long to wait, in milliseconds; without it as long as the connection lives. The
   * signal is not looked at.
   * @throws DialCacheRedisError when the time is over or Redis could not be asked, DialCacheClosedError.
   */
  async read(request: RedisReadRequest, context?: RedisReadContext): Promise<RedisCachePayload | null> {
    const { valueKey, watermarkKey } = request;
    return await submit((call) => native(this).read(call, valueKey, watermarkKey, context?.timeoutMs), payload);
  }

  /**
   * Stores a payload as it is. Resolves with false when the id was invalidated; the connection's end is its only limit
   * in time.
   * @throws DialCacheRedisError when the server did not take it, DialCacheClosedError, DialCacheRedisPayloadError.
   */
  async write(request: RedisWriteRequest): Promise<boolean> {
    const { valueKey, watermarkKey, cacheTtlMs, value } = request;
    if (typeof value !== "string" && !Buffer.isBuffer(value)) {
      throw new DialCacheRedisPayloadError("write() takes a string or a Buffer");
    }
    return await submit(
      (call) => native(this).write(call, valueKey, watermarkKey, cacheTtlMs, value, Date.now()),
      (reply, stored) => {
        done(reply, stored);
        return stored as boolean;
      },
    );
  }

  /** Raises a watermark, never lowers it. Waits up to `responseTimeoutMs` for a connection and retries once. */
  async invalidate(request: RedisInvalidationRequest): Promise<void> {
    const { watermarkKey, futureBufferMs } = request;
    await submit((call) => native(this).invalidate(call, watermarkKey, futureBufferMs), done);
  }

  /** Ends the client: what is pending is rejected, later requests fail at once. Later calls do nothing. */
  close(): void {
    native(this).close();
  }

  /** Figures of this moment. */
  stats(): RedisClientStats {
    const stats = native(this).stats();
    return {
      status: this.status,
      pending: stats.pending,
      pendingBytes: stats.pendingBytes,
      reconnects: stats.reconnects,
      failedAttempts: stats.failedAttempts,
      lastErrorKind: stats.lastErrorKind ?? null,
      late: {
        hits: lateness(stats.lateHits),
        misses: lateness(stats.lateMisses),
        failed: stats.lateFailed,
        lost: stats.lateLost,
      },
    };
  }

  /** Closes the client. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

/** Hears of a client without keeping it alive. */
class Listener implements ClientListener {
  readonly #client: WeakRef<RedisClient>;
  readonly #native: NativeClient;
  readonly #credentials: ResolvedRedisClientOptions["credentials"];

  constructor(client: RedisClient, native: NativeClient, credentials: ResolvedRedisClientOptions["credentials"]) {
    this.#client = new WeakRef(client);
    this.#native = native;
    this.#credentials = credentials;
    listeners.set(client, this);
  }

  statusChanged(status: string): void {
    // A listener is user code: it runs in a turn of its own, and its throw is nobody else's.
    queueMicrotask(() => this.#client.deref()?.emit("status", status as RedisClientStatus));
  }

  credentialsWanted(request: number): void {
    const credentials = this.#credentials;
    Promise.resolve()
      .then(() => credentials?.())
      .then(
        (found) => this.#native.provideCredentials(request, found?.username, found?.password),
        () => this.#native.provideCredentials(request),
      )
      // Credentials of a wrong type are no credentials.
      .catch(() => this.#native.provideCredentials(request));
  }
}

// The hub holds listeners weakly: each lives as long as its client.
const listeners = new WeakMap<RedisClient, Listener>();

function native(client: RedisClient): NativeClient {
  const found = natives.get(client);
  if (found === undefined) throw new TypeError("not a RedisClient");
  return found;
}

/** What only the native side can find wrong with an option is refused like any other bad option. */
function connect(options: ResolvedRedisClientOptions): NativeClient {
  try {
    return hub.connect(nativeConfig(options));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const option = message.slice(0, Math.max(0, message.indexOf(":")));
    throw invalid(TypeError, { api: "new RedisClient()", path: "" }, option, message);
  }
}

/** The error of a failure the native side reported. */
export function failureError(failure: unknown): Error {
  const { kind, message } = failure as Failure;
  switch (kind) {
    case "closed":
      return new DialCacheClosedError(message);
    case "encoding":
      return new DialCacheRedisPayloadEncodingError(message);
    case "placeholder_lost":
      return new DialCacheRedisPlaceholderLostError(message);
    default:
      return new DialCacheRedisError(kind, message);
  }
}

function submit<T>(start: (call: number) => Failure | null, read: (reply: number, value: unknown) => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const call = nextCall();
    const listener = (reply: number, value: unknown): void => {
      try {
        resolve(read(reply, value));
      } catch (error) {
        reject(error);
      }
    };
    expectCall(call, start(call), listener, WRITE_FAILED);
  });
}

function done(reply: number, value: unknown): void {
  if (reply !== WRITTEN) throw failureError(value);
}

function payload(reply: number, value: unknown): RedisCachePayload | null {
  if (reply === LOAD) return value as RedisCachePayload;
  if (reply === MISS) return null;
  if (reply === TIMED_OUT) throw new DialCacheRedisError("timeout", "the read did not settle in time");
  throw failureError(value);
}

function lateness(stats: {
  count: number;
  maxMs: number;
  p50Ms?: number | undefined | null;
  p99Ms?: number | undefined | null;
}): LateReplyStats {
  return { count: stats.count, maxMs: stats.maxMs, p50Ms: stats.p50Ms ?? null, p99Ms: stats.p99Ms ?? null };
}

/** `tls` turns TLS on; the native side knows it by the scheme alone. */
const PLAIN = /^(redis|valkey):\/\//;

function nativeConfig(options: ResolvedRedisClientOptions): Parameters<typeof hub.connect>[0] {
  const { username, password, database, clientName, tls } = options;
  const withTls = (url: string): string => (tls === undefined ? url : url.replace(PLAIN, "$1s://"));
  return {
    ...(options.url === undefined ? {} : { url: withTls(options.url) }),
    nodes: options.nodes.map(withTls),
    ...(tls === undefined ? {} : { tls: nativeTls(tls) }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    dynamicCredentials: options.credentials !== undefined,
    ...(database === undefined ? {} : { database }),
    ...(clientName === undefined ? {} : { clientName }),
    connectTimeoutMs: options.connectTimeoutMs,
    responseTimeoutMs: options.responseTimeoutMs,
    maxPending: options.maxPending,
    maxPendingBytes: options.maxPendingBytes,
    baseDelayMs: options.reconnect.baseDelayMs,
    maxDelayMs: options.reconnect.maxDelayMs,
  };
}

function nativeTls(tls: ResolvedTls): NonNullable<Parameters<typeof hub.connect>[0]["tls"]> {
  const bytes = (pem: string | Uint8Array): Buffer => Buffer.from(pem);
  return {
    ...(tls.ca.length === 0
      ? {}
      : { ca: Buffer.concat(tls.ca.map((pem) => Buffer.concat([bytes(pem), Buffer.from("\n")]))) }),
    ...(tls.cert === undefined ? {} : { cert: bytes(tls.cert) }),
    ...(tls.key === undefined ? {} : { key: bytes(tls.key).toString("utf8") }),
    ...(tls.servername === undefined ? {} : { servername: tls.servername }),
    rejectUnauthorized: tls.rejectUnauthorized,
  };
}
