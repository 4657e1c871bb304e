// The public API, generated from lib/redis-protocol.ts by `npm run types`. Do not edit.
/// <reference types="node" />

import type { RedisCachePayload, RedisInvalidationRequest, RedisReadHit } from "./index.js";

/**
 * Raises a watermark to the server's time plus a buffer; neither it nor its time to live ever gets smaller. Key: watermark.
 * Argument: the buffer in milliseconds. For its reply see `invalidateReply()`.
 */
export declare const INVALIDATE_SCRIPT: string;

/** SHA-1 of `INVALIDATE_SCRIPT`, in hexadecimal. */
export declare const INVALIDATE_SCRIPT_SHA1: string;

/** Byte 9 of a frame whose payload is bytes. */
export declare const REDIS_ENCODING_BINARY = 1;

/** Byte 9 of a frame whose payload is text in UTF-8. */
export declare const REDIS_ENCODING_UTF8 = 0;

/** Bytes of a frame before its payload. */
export declare const REDIS_FRAME_HEADER_BYTES = 10;

/** First byte of a frame that is served. */
export declare const REDIS_FRAME_VERSION = 1;

/** Bytes of a placeholder's nonce. */
export declare const REDIS_NONCE_BYTES = 8;

/** First byte of a placeholder: a tracked write that is not stamped yet, which nobody serves. */
export declare const REDIS_PLACEHOLDER_VERSION = 0;

/**
 * Gives the placeholder of a tracked write the server's time, unless an invalidation bars it. Keys: value, watermark.
 * Arguments: the placeholder's nonce (8 bytes), the value's time to live in milliseconds. For its replies see `stampReply()`.
 */
export declare const STAMP_SCRIPT: string;

/** SHA-1 of `STAMP_SCRIPT`, in hexadecimal. */
export declare const STAMP_SCRIPT_SHA1: string;

/**
 * Takes a reply of `GET` apart.
 *
 * @param reply - The stored bytes, which must not be changed afterwards: a binary payload is a view of them; null when
 * there are none.
 * @returns Null for a miss: no value, a short one, a placeholder, or a frame of another version.
 * @throws DialCacheRedisPayloadEncodingError when the encoding is not known.
 * @throws DialCacheRedisPayloadError when the reply is neither bytes nor null.
 */
export declare function decodeFrame(reply: unknown): RedisReadHit | null;

/**
 * Takes the reply of `MGET value watermark` apart.
 *
 * @param reply - Two entries, each bytes or null.
 * @returns Null for a miss, which a value is that its watermark does not admit.
 * @throws DialCacheRedisPayloadEncodingError when the encoding is not known, and the value would be served.
 * @throws DialCacheRedisPayloadError when the reply has another shape.
 */
export declare function decodeTrackedReply(reply: unknown): RedisReadHit | null;

/**
 * Frames a payload for a plain `SET`: version, time, encoding, payload.
 *
 * @param createdAtMs - Milliseconds since the Unix epoch, by the writer's clock.
 * @throws RangeError when the time is not a whole number from 0 to `Number.MAX_SAFE_INTEGER`.
 * @throws DialCacheRedisPayloadError when the payload is neither a string nor a Buffer.
 */
export declare function encodeFrame(payload: RedisCachePayload, createdAtMs: number): Buffer;

/**
 * Frames a payload for a tracked write: what stands where the time will be is a nonce, until the stamp script replaces
 * it with the server's time.
 *
 * @param nonce - 8 bytes no other write has. Default: random ones.
 * @throws RangeError when the nonce has another length.
 * @throws DialCacheRedisPayloadError when the payload is neither a string nor a Buffer.
 */
export declare function encodePlaceholder(payload: RedisCachePayload, nonce?: Uint8Array): RedisPlaceholder;

/** The call that raises a watermark. */
export declare function invalidateCall(request: RedisInvalidationRequest): RedisScriptCall;

/**
 * Checks a reply of `INVALIDATE_SCRIPT`.
 * @throws DialCacheRedisProtocolError when the watermark was not confirmed.
 */
export declare function invalidateReply(reply: unknown): void;

/** Whether a server refused `EVALSHA` because it does not know the script, which `EVAL` then carries. */
export declare function isNoScriptError(error: unknown): boolean;

/** The whole command of a call: `EVALSHA`, or `EVAL` for a server that does not know the script yet. */
export declare function scriptCommand(call: RedisScriptCall, name: "EVALSHA" | "EVAL"): (string | Buffer)[];

/**
 * Checks a reply of `SET`.
 * @throws DialCacheRedisProtocolError when it is not `OK`.
 */
export declare function setReply(reply: unknown): void;

/** The call that stamps a placeholder, on the connection of its `SET` and after it. */
export declare function stampCall(request: {
  readonly valueKey: string;
  readonly watermarkKey: string;
  readonly nonce: Buffer;
  readonly cacheTtlMs: number;
}): RedisScriptCall;

/**
 * What `write()` answers after this reply of `STAMP_SCRIPT`: true when the value was stamped, false when an invalidation bars it.
 *
 * @throws DialCacheRedisPlaceholderLostError when the placeholder was gone: overwritten, deleted, evicted or expired.
 * @throws DialCacheRedisProtocolError when the reply is none of the script's.
 */
export declare function stampReply(reply: unknown): boolean;

/**
 * Whether a watermark lets a value of this time be served: it must be there, a finite unsigned decimal, and earlier.
 *
 * @param watermark - What is stored, as text; null when nothing is.
 * @param createdAtMs - Milliseconds since the Unix epoch, by the server's clock.
 */
export declare function watermarkAdmits(watermark: string | null, createdAtMs: number): boolean;

/** A frame nobody serves, and the nonce by which the stamp script knows it. */
export interface RedisPlaceholder {
  /** What to `SET`. */
  readonly frame: Buffer;
  /** First argument of the stamp script. */
  readonly nonce: Buffer;
}

/** A Lua script together with what one call of it is given. */
export interface RedisScriptCall {
  /** The script, for `EVAL`. */
  readonly script: string;
  /** Its SHA-1 in hexadecimal, for `EVALSHA`. */
  readonly sha1: string;
  /** Keys, all in one slot. */
  readonly keys: readonly [string, ...string[]];
  /** Arguments: text as text, bytes as bytes. */
  readonly args: readonly (string | Buffer)[];
}

export {};
