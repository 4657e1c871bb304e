import { type Leaves, toLeaves } from "./config";
import type { DialCacheKey } from "./key";
import { isThenable } from "./thenable";
import type { CacheConfigProvider } from "./types";

/**
 * Asks a provider for the leaves to lay over a use case's defaults: undefined for none. Throws or rejects when the
 * provider does, or when what it answers is no policy.
 */
export function policyOverlay(
  provider: CacheConfigProvider | undefined,
): ((key: DialCacheKey) => Leaves | undefined | PromiseLike<Leaves | undefined>) | undefined {
  if (provider === undefined) return undefined;
  return (key) => {
    const answer: unknown = provider(key);
    return isThenable(answer) ? answer.then(leavesOf) : leavesOf(answer);
  };
}

function leavesOf(answer: unknown): Leaves | undefined {
  return answer === null || answer === undefined ? undefined : toLeaves(answer, "cacheConfigProvider()");
}
