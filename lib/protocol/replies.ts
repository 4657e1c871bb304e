import { DialCacheRedisPlaceholderLostError, DialCacheRedisProtocolError } from "../errors";

const BARRED = "0";
const STAMPED = "1";
const LOST = "2";
const RAISED = "1";

/**
 * What `write()` answers after this reply of `STAMP_SCRIPT`: true when the value was stamped, false when an invalidation bars it.
 *
 * @throws DialCacheRedisPlaceholderLostError when the placeholder was gone: overwritten, deleted, evicted or expired.
 * @throws DialCacheRedisProtocolError when the reply is none of the script's.
 */
export function stampReply(reply: unknown): boolean {
  switch (integer(reply)) {
    case STAMPED:
      return true;
    case BARRED:
      return false;
    case LOST:
      throw new DialCacheRedisPlaceholderLostError();
    default:
      throw new DialCacheRedisProtocolError("the reply to the stamp script is none of its replies");
  }
}

/** Whether the stamp script found another writer's value, or none. */
export function isPlaceholderLost(reply: unknown): boolean {
  return integer(reply) === LOST;
}

/**
 * Checks a reply of `INVALIDATE_SCRIPT`.
 * @throws DialCacheRedisProtocolError when the watermark was not confirmed.
 */
export function invalidateReply(reply: unknown): void {
  if (integer(reply) !== RAISED) {
    throw new DialCacheRedisProtocolError("the reply to the invalidation script is none of its replies");
  }
}

/**
 * Checks a reply of `SET`.
 * @throws DialCacheRedisProtocolError when it is not `OK`.
 */
export function setReply(reply: unknown): void {
  const text = reply instanceof Uint8Array ? Buffer.from(reply).toString("latin1") : reply;
  if (text !== "OK") throw new DialCacheRedisProtocolError("the reply to SET is not OK");
}

/** A reply that is a whole number, in any of the forms that clients can be told to give. */
function integer(reply: unknown): string | undefined {
  if (typeof reply === "number" || typeof reply === "bigint" || typeof reply === "string") return String(reply);
  return reply instanceof Uint8Array ? Buffer.from(reply).toString("latin1") : undefined;
}
