import { REDIS_FRAME_HEADER_BYTES } from "./protocol/frame";
import type { RedisCachePayload } from "./redis-types";
import { isWellFormed, utf8Exceeds } from "./text";

/**
 * The most bytes of a payload: what Redis takes as one value, 512 MiB, less what the frame and the envelope add. A server
 * that is sent more closes the connection.
 */
const MAX_PAYLOAD_BYTES = 512 * 1024 * 1024 - REDIS_FRAME_HEADER_BYTES - 1;

/**
 * What a serializer's `dump` returned, if Redis can hold it.
 * @throws TypeError or RangeError when it cannot; TypeError for something that only looks like a Buffer.
 */
export function checkedPayload(dumped: unknown): string | Uint8Array {
  if (typeof dumped !== "string" && !(dumped instanceof Uint8Array)) {
    throw new TypeError("dump() must return a string or a Buffer");
  }
  if (typeof dumped === "string" ? utf8Exceeds(dumped, MAX_PAYLOAD_BYTES) : dumped.length > MAX_PAYLOAD_BYTES) {
    const most = `${MAX_PAYLOAD_BYTES} bytes, the most that Redis keeps under one key`;
    throw new RangeError(`dump() must return at most ${most}, got ${Buffer.byteLength(dumped)}`);
  }
  if (typeof dumped === "string" && !isWellFormed(dumped)) {
    // UTF-8 would make U+FFFD of it, and the next caller would get another value than this one.
    throw new TypeError("dump() must return well-formed text, got an unpaired surrogate");
  }
  return dumped;
}

/** A payload that nobody else can change. */
export function copyOf(payload: RedisCachePayload): RedisCachePayload {
  return typeof payload === "string" ? payload : Buffer.from(payload);
}

/** Whether both are text, or both are bytes, and the same. */
export function samePayload(one: RedisCachePayload | undefined, other: RedisCachePayload | undefined): boolean {
  return one === other || (Buffer.isBuffer(one) && Buffer.isBuffer(other) && one.equals(other));
}
