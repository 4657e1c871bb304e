import type { ResolvedCompression } from "./options";
import type { DialCacheRedisClient } from "./redis-types";
import type { Serializer } from "./serializer";

/** How an instance reaches Redis. */
export interface RemoteLayer {
  readonly client: DialCacheRedisClient;
  /** Whether the engine itself reads and writes, on the native thread. */
  readonly native: boolean;
  readonly readTimeoutMs: number;
  readonly serializer: Serializer<unknown>;
  readonly compression: ResolvedCompression | undefined;
}
