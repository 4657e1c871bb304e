import { createHash } from "node:crypto";
import { INVALIDATE_SCRIPT as invalidateText, STAMP_SCRIPT as stampText } from "../native";
import type { RedisInvalidationRequest } from "../redis-types";

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

/**
 * Gives the placeholder of a tracked write the server's time, unless an invalidation bars it. Keys: value, watermark.
 * Arguments: the placeholder's nonce (8 bytes), the value's time to live in milliseconds. For its replies see `stampReply()`.
 */
export const STAMP_SCRIPT: string = stampText;
/** SHA-1 of `STAMP_SCRIPT`, in hexadecimal. */
export const STAMP_SCRIPT_SHA1: string = sha1(stampText);
/**
 * Raises a watermark to the server's time plus a buffer; neither it nor its time to live ever gets smaller. Key: watermark.
 * Argument: the buffer in milliseconds. For its reply see `invalidateReply()`.
 */
export const INVALIDATE_SCRIPT: string = invalidateText;
/** SHA-1 of `INVALIDATE_SCRIPT`, in hexadecimal. */
export const INVALIDATE_SCRIPT_SHA1: string = sha1(invalidateText);

/** The call that stamps a placeholder, on the connection of its `SET` and after it. */
export function stampCall(request: {
  readonly valueKey: string;
  readonly watermarkKey: string;
  readonly nonce: Buffer;
  readonly cacheTtlMs: number;
}): RedisScriptCall {
  return {
    script: STAMP_SCRIPT,
    sha1: STAMP_SCRIPT_SHA1,
    keys: [request.valueKey, request.watermarkKey],
    args: [request.nonce, String(request.cacheTtlMs)],
  };
}

/** The call that raises a watermark. */
export function invalidateCall(request: RedisInvalidationRequest): RedisScriptCall {
  return {
    script: INVALIDATE_SCRIPT,
    sha1: INVALIDATE_SCRIPT_SHA1,
    keys: [request.watermarkKey],
    args: [String(request.futureBufferMs)],
  };
}

/** The whole command of a call: `EVALSHA`, or `EVAL` for a server that does not know the script yet. */
export function scriptCommand(call: RedisScriptCall, name: "EVALSHA" | "EVAL"): (string | Buffer)[] {
  const script = name === "EVAL" ? call.script : call.sha1;
  return [name, script, String(call.keys.length), ...call.keys, ...call.args];
}

/** Whether a server refused `EVALSHA` because it does not know the script, which `EVAL` then carries. */
export function isNoScriptError(error: unknown): boolean {
  // The second is what valkey-glide makes of the first.
  return error instanceof Error && /\b(?:NOSCRIPT|NoScriptError)\b/.test(error.message);
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}
