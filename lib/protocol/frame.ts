import { randomFillSync } from "node:crypto";
import { DialCacheRedisPayloadEncodingError, DialCacheRedisPayloadError } from "../errors";
import type { RedisCachePayload, RedisReadHit } from "../redis-types";

/** First byte of a frame that is served. */
export const REDIS_FRAME_VERSION = 1;
/** First byte of a placeholder: a tracked write that is not stamped yet, which nobody serves. */
export const REDIS_PLACEHOLDER_VERSION = 0;
/** Byte 9 of a frame whose payload is text in UTF-8. */
export const REDIS_ENCODING_UTF8 = 0;
/** Byte 9 of a frame whose payload is bytes. */
export const REDIS_ENCODING_BINARY = 1;
/** Bytes of a frame before its payload. */
export const REDIS_FRAME_HEADER_BYTES = 10;
/** Bytes of a placeholder's nonce. */
export const REDIS_NONCE_BYTES = 8;

const TIME_OFFSET = 1;
const ENCODING_OFFSET = 9;

/**
 * Frames a payload for a plain `SET`: version, time, encoding, payload.
 *
 * @param createdAtMs - Milliseconds since the Unix epoch, by the writer's clock.
 * @throws RangeError when the time is not a whole number from 0 to `Number.MAX_SAFE_INTEGER`.
 * @throws DialCacheRedisPayloadError when the payload is neither a string nor a Buffer.
 */
export function encodeFrame(payload: RedisCachePayload, createdAtMs: number): Buffer {
  if (!Number.isSafeInteger(createdAtMs) || createdAtMs < 0) {
    throw new RangeError("encodeFrame(): createdAtMs must be a whole number of milliseconds from 0");
  }
  const frame = allocate(payload, REDIS_FRAME_VERSION);
  frame.writeBigUInt64BE(BigInt(createdAtMs), TIME_OFFSET);
  return frame;
}

/** A frame nobody serves, and the nonce by which the stamp script knows it. */
export interface RedisPlaceholder {
  /** What to `SET`. */
  readonly frame: Buffer;
  /** First argument of the stamp script. */
  readonly nonce: Buffer;
}

/**
 * Frames a payload for a tracked write: what stands where the time will be is a nonce, until the stamp script replaces
 * it with the server's time.
 *
 * @param nonce - 8 bytes no other write has. Default: random ones.
 * @throws RangeError when the nonce has another length.
 * @throws DialCacheRedisPayloadError when the payload is neither a string nor a Buffer.
 */
export function encodePlaceholder(
  payload: RedisCachePayload,
  nonce: Uint8Array = randomFillSync(Buffer.alloc(REDIS_NONCE_BYTES)),
): RedisPlaceholder {
  if (nonce.length !== REDIS_NONCE_BYTES) {
    throw new RangeError(`encodePlaceholder(): the nonce must have ${REDIS_NONCE_BYTES} bytes`);
  }
  const frame = allocate(payload, REDIS_PLACEHOLDER_VERSION);
  frame.set(nonce, TIME_OFFSET);
  return { frame, nonce: Buffer.from(nonce) };
}

/**
 * Takes a reply of `GET` apart.
 *
 * @param reply - The stored bytes, which must not be changed afterwards: a binary payload is a view of them; null when
 * there are none.
 * @returns Null for a miss: no value, a short one, a placeholder, or a frame of another version.
 * @throws DialCacheRedisPayloadEncodingError when the encoding is not known.
 * @throws DialCacheRedisPayloadError when the reply is neither bytes nor null.
 */
export function decodeFrame(reply: unknown): RedisReadHit | null {
  const frame = parseFrame(reply);
  return frame === null ? null : openFrame(frame);
}

/** A frame that can be served, if its encoding is known. */
export interface ParsedFrame {
  readonly createdAtMs: number;
  readonly encoding: number;
  readonly body: Buffer;
}

/** The parts of a stored frame; null for what is a miss. */
export function parseFrame(reply: unknown): ParsedFrame | null {
  const frame = bytesOf(reply);
  if (frame === null || frame.length < REDIS_FRAME_HEADER_BYTES || frame[0] !== REDIS_FRAME_VERSION) return null;
  const createdAtMs = Number(frame.readBigUInt64BE(TIME_OFFSET));
  // Later times cannot be told apart, and so not be compared with a watermark.
  if (!Number.isSafeInteger(createdAtMs)) return null;
  return {
    createdAtMs,
    encoding: frame[ENCODING_OFFSET] as number,
    body: frame.subarray(REDIS_FRAME_HEADER_BYTES),
  };
}

/** The payload of a frame. */
export function openFrame({ createdAtMs, encoding, body }: ParsedFrame): RedisReadHit {
  switch (encoding) {
    case REDIS_ENCODING_UTF8:
      return { payload: body.toString("utf8"), createdAtMs };
    case REDIS_ENCODING_BINARY:
      return { payload: body, createdAtMs };
    default:
      throw new DialCacheRedisPayloadEncodingError();
  }
}

/**
 * A reply as bytes; null stays null.
 * @throws DialCacheRedisPayloadError for anything else, such as text: a client that decodes replies has lost bytes.
 */
export function bytesOf(reply: unknown): Buffer | null {
  if (reply === null) return null;
  if (Buffer.isBuffer(reply)) return reply;
  if (reply instanceof Uint8Array) return Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength);
  throw new DialCacheRedisPayloadError("the reply of the Redis client must be a Buffer or null");
}

function allocate(payload: RedisCachePayload, version: number): Buffer {
  const isText = typeof payload === "string";
  if (!isText && !Buffer.isBuffer(payload)) {
    throw new DialCacheRedisPayloadError("a payload must be a string or a Buffer");
  }
  const size = isText ? Buffer.byteLength(payload) : payload.length;
  const frame = Buffer.allocUnsafe(REDIS_FRAME_HEADER_BYTES + size);
  frame[0] = version;
  frame[ENCODING_OFFSET] = isText ? REDIS_ENCODING_UTF8 : REDIS_ENCODING_BINARY;
  if (isText) frame.write(payload, REDIS_FRAME_HEADER_BYTES, "utf8");
  else frame.set(payload, REDIS_FRAME_HEADER_BYTES);
  return frame;
}
