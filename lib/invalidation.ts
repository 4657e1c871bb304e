import { DialCacheClosedError, DialCacheKeyError } from "./errors";
import { invalidationError } from "./figures";
import type { Instance } from "./instance";
import { normalizeKeySpec } from "./key";
import { integer } from "./option-reader";
import { isWellFormed } from "./text";

/** 365 days, in milliseconds. */
const MAX_FUTURE_BUFFER_MS = 31_536_000_000;

/** Bars what was cached for an id: see `DialCache.invalidateRemote()`. */
export async function invalidate(
  instance: Instance,
  keyType: string,
  id: string | number | bigint,
  futureBufferMs: number,
): Promise<void> {
  const place = { api: "invalidateRemote()", path: "" };
  if (typeof keyType !== "string" || keyType === "")
    throw new TypeError("invalidateRemote(): keyType must be a non-empty string");
  integer(futureBufferMs, place, "futureBufferMs", { min: 0, max: MAX_FUTURE_BUFFER_MS, unit: "milliseconds" });
  const { remote } = instance;
  if (remote === undefined) {
    if (instance.closed) throw new DialCacheClosedError();
    throw new TypeError("invalidateRemote() needs a Redis layer: give new DialCache() the option redis");
  }
  if (!isWellFormed(keyType)) throw new DialCacheKeyError("keyType must be well-formed text");
  const text = idText(id);
  const watermarkKey = bar(instance, keyType, text);
  const { figures, logger, namespace, observers } = instance;
  figures.invalidated(keyType);
  observers.events?.invalidation({ cacheNamespace: namespace, keyType, layer: "remote" });
  try {
    await remote.client.invalidate({ watermarkKey, futureBufferMs });
  } catch (error) {
    figures.invalidationFailed(keyType);
    observers.events?.error(invalidationError(namespace, keyType));
    logger.warn("DialCache: an invalidation failed", error);
    throw error;
  } finally {
    // What was read from Redis while the watermark was on its way may be what it bars.
    bar(instance, keyType, text);
  }
}

function idText(id: unknown): string {
  if (typeof id === "object")
    throw new DialCacheKeyError("id of invalidateRemote() must be a string, a number or a bigint");
  return normalizeKeySpec(id).id;
}

/** Drops this process's entries of the id. Answers the watermark's Redis key. */
function bar(instance: Instance, keyType: string, id: string): string {
  instance.tick();
  let watermarkKey: string;
  try {
    watermarkKey = instance.engine.invalidate(keyType, id);
  } catch (cause) {
    throw new DialCacheKeyError((cause as Error).message);
  }
  instance.invalidations.add(keyType, id);
  instance.dropFreed();
  instance.syncTimer();
  return watermarkKey;
}
