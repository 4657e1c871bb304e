import { DialCacheRedisPayloadError } from "../errors";
import type { RedisReadHit } from "../redis-types";
import { bytesOf, openFrame, parseFrame } from "./frame";

const DECIMAL = /^\d+$/;

/**
 * Whether a watermark lets a value of this time be served: it must be there, a finite unsigned decimal, and earlier.
 *
 * @param watermark - What is stored, as text; null when nothing is.
 * @param createdAtMs - Milliseconds since the Unix epoch, by the server's clock.
 */
export function watermarkAdmits(watermark: string | null, createdAtMs: number): boolean {
  return watermark !== null && DECIMAL.test(watermark) && Number(watermark) < createdAtMs;
}

/**
 * Takes the reply of `MGET value watermark` apart.
 *
 * @param reply - Two entries, each bytes or null.
 * @returns Null for a miss, which a value is that its watermark does not admit.
 * @throws DialCacheRedisPayloadEncodingError when the encoding is not known, and the value would be served.
 * @throws DialCacheRedisPayloadError when the reply has another shape.
 */
export function decodeTrackedReply(reply: unknown): RedisReadHit | null {
  if (!Array.isArray(reply) || reply.length !== 2) {
    throw new DialCacheRedisPayloadError("the reply of the Redis client to MGET must have two entries");
  }
  const [value, mark] = reply as [unknown, unknown];
  // Every byte one character, so that nothing that is no digit becomes one.
  const watermark = bytesOf(mark)?.toString("latin1") ?? null;
  if (watermark === null) return null;
  const frame = parseFrame(value);
  return frame !== null && watermarkAdmits(watermark, frame.createdAtMs) ? openFrame(frame) : null;
}
