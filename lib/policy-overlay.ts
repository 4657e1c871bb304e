import { type Leaves, toLeaves } from "./config";
import type { DialCacheKey } from "./key";
import { adopt, isThenable } from "./thenable";
import type { CacheConfigProvider } from "./types";

/**
 * Asks a provider for the leaves to lay over a use case's defaults: undefined for none. Throws or rejects when the
 * provider does, or when what it answers is no policy.
 */
export function policyOverlay(
  provider: CacheConfigProvider | undefined,
): ((key: DialCacheKey) => Leaves | undefined | Promise<Leaves | undefined>) | undefined {
  if (provider === undefined) return undefined;
  return (key) => {
    const answer: unknown = provider(key);
    // Not its own `then`: what that returns is only a promise of the result when the thenable is a proper promise.
    return isThenable(answer) ? adopt(answer).then(leavesOf) : leavesOf(answer);
  };
}

function leavesOf(answer: unknown): Leaves | undefined {
  return answer === null || answer === undefined ? undefined : toLeaves(answer, "cacheConfigProvider()");
}
