import { isSealed, needsSealing, openEnvelope, sealEnvelope } from "./envelope";
import { DialCacheRedisPayloadError, DialCacheRedisProtocolError } from "./errors";
import { type Passage, untouched } from "./passage";
import type {
  DialCacheRedisClient,
  RedisCachePayload,
  RedisReadContext,
  RedisReadRequest,
  RedisWriteRequest,
} from "./redis-types";
import type { RemoteLayer } from "./remote-layer";
import type { UseCase } from "./use-case";

/** How a read through a caller's client ended, as the engine takes it. */
export const READ_HIT = 0;
export const READ_MISS = 1;
export const READ_FAILED = 2;

/**
 * Told once how a read ended: with a payload ready for the serializer, with nothing, or with an error.
 * @param passage - What became of the payload in its envelope; undefined when it was in none.
 */
type Settled = (result: number, value: unknown, passage: Passage | undefined) => void;

/** A read under way in a caller's client. */
export interface ClientRead {
  /** Tells the client that nobody waits any more. */
  abort(reason: unknown): void;
  /** When what was read had been written, in milliseconds since the Unix epoch; undefined when the client did not say. */
  readonly createdAtMs: number | undefined;
  /** Resolves when the client is done, whether or not anybody still waits. */
  readonly ended: Promise<void>;
}

/** Reads through a caller's client. */
export function startClientRead(
  client: DialCacheRedisClient,
  request: RedisReadRequest,
  timeoutMs: number,
  settled: Settled,
): ClientRead {
  const read = new Read(settled);
  read.ended = run(read, client, request, timeoutMs);
  return read;
}

async function run(
  read: Read,
  client: DialCacheRedisClient,
  request: RedisReadRequest,
  timeoutMs: number,
): Promise<void> {
  let payload: RedisCachePayload | null;
  let passage: Passage | undefined;
  try {
    payload = payloadOf(read, await client.read(request, contextOf(read, timeoutMs)));
    if (typeof payload === "object" && payload !== null && isSealed(payload)) {
      const opened = await openEnvelope(payload, () => read.isWaitedFor);
      if (opened === undefined) return;
      ({ payload, passage } = opened);
    }
  } catch (error) {
    read.settle(READ_FAILED, error);
    return;
  }
  read.settle(payload === null ? READ_MISS : READ_HIT, payload, passage);
}

/** The Redis keys of a flight's value and, when tracked, of its watermark. */
export function keysOf(useCase: UseCase, flight: number): RedisReadRequest {
  const { engine } = useCase.instance;
  const valueKey = engine.valueKey(flight);
  if (!useCase.tracked) return { valueKey };
  return { valueKey, watermarkKey: engine.watermarkKey(flight) as string };
}

/**
 * Writes a serialized value through a caller's client.
 * @param sealed - Told what became of the payload in its envelope, before the client gets it.
 */
export async function writeThroughClient(
  remote: RemoteLayer,
  request: Omit<RedisWriteRequest, "value">,
  payload: string | Uint8Array,
  sealed: (passage: Passage) => void,
): Promise<boolean> {
  const { payload: value, passage } = needsSealing(payload, remote.compression)
    ? await sealEnvelope(payload, remote.compression)
    : { payload: asPayload(payload), passage: untouched(remote.compression !== undefined) };
  sealed(passage);
  const stored: unknown = await remote.client.write({ ...request, value });
  if (typeof stored !== "boolean")
    throw new DialCacheRedisProtocolError("write() of the Redis client must return a boolean");
  return stored;
}

/**
 * A read under way. The client may keep its promise and its signal for ever: neither must keep the call alive, so the
 * way back to it is cut once nobody waits. The abort controller is made only for clients that look at the signal.
 */
class Read implements ClientRead {
  createdAtMs: number | undefined;
  ended!: Promise<void>;
  #settled: Settled | undefined;
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: unknown;

  constructor(settled: Settled) {
    this.#settled = settled;
  }

  /** Whether what it brings is still of use. */
  get isWaitedFor(): boolean {
    return this.#settled !== undefined;
  }

  settle(result: number, value: unknown, passage?: Passage): void {
    const settled = this.#settled;
    this.#settled = undefined;
    settled?.(result, value, passage);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#settled = undefined;
    this.#aborted = true;
    this.#reason = reason;
    // Until it is formatted, a stack holds the objects whose methods were running.
    if (reason instanceof Error) void reason.stack;
    this.#controller?.abort(reason);
  }
}

function contextOf(read: Read, timeoutMs: number): RedisReadContext {
  return {
    timeoutMs,
    get signal() {
      return read.signal;
    },
  };
}

/** The payload of a client's reply. */
function payloadOf(read: Read, reply: unknown): RedisCachePayload | null {
  if (reply === null) return null;
  if (typeof reply === "string") return reply;
  if (reply instanceof Uint8Array) return asPayload(reply);
  if (typeof reply === "object" && reply !== null && "payload" in reply) {
    const { payload, createdAtMs } = reply as { payload: unknown; createdAtMs: unknown };
    if (typeof createdAtMs === "number") {
      read.createdAtMs = Number.isFinite(createdAtMs) ? createdAtMs : undefined;
      if (typeof payload === "string") return payload;
      if (payload instanceof Uint8Array) return asPayload(payload);
    }
  }
  throw new DialCacheRedisPayloadError(
    "read() of the Redis client must return a string, a Buffer, { payload, createdAtMs } or null",
  );
}

function asPayload(payload: string | Uint8Array): RedisCachePayload {
  if (typeof payload === "string" || Buffer.isBuffer(payload)) return payload;
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}
