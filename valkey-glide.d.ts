// The public API, generated from lib/adapters/valkey-glide.ts by `npm run types`. Do not edit.
/// <reference types="node" />

import type { DialCacheRedisClient } from "./index.js";

/**
 * Makes a valkey-glide client usable as `redis.client`. The client stays yours: close it yourself. Text and bytes come back
 * as they were, whatever `defaultDecoder` the client has.
 *
 * **When a read's deadline passes** the call goes on without it, but the client is not told: it takes no signal. Neither a
 * *queued* nor a *dispatched* read is taken back. What ends both is the client's own `requestTimeout` (250 ms unless set
 * otherwise), which stays in force for reads, writes and invalidations: then the promise is rejected; a command that was
 * sent may still be carried out by the server. Reads and writes beyond `inflightRequestsLimit` are refused at once, and
 * what times out there no longer counts. Set `advancedConfiguration.connectionTimeout` too.
 *
 * Tracked reads go to primaries whatever `readFrom` says; untracked ones to where it says.
 *
 * @param client - Of `GlideClient.createClient()` or `GlideClusterClient.createClient()`.
 * @param glideModule - The module that made it: `import * as glide from "@valkey/valkey-glide"`.
 * @throws TypeError when one of them is another object.
 */
export declare function createValkeyGlideDialCacheClient(
  client: GlideClientLike,
  glideModule: GlideModule,
): ValkeyGlideDialCacheClient;

/** Commands sent together. */
export interface GlideBatch {
  /** Adds a command. */
  customCommand(args: GlideArgs): unknown;
}

/** What is needed of `GlideClient` or `GlideClusterClient` of valkey-glide 2. */
export interface GlideClientLike {
  /** Sends one command. */
  customCommand(args: GlideArgs, options?: never): Promise<unknown>;
  /** Sends a batch. */
  exec(batch: never, raiseOnError: boolean, options?: never): Promise<unknown[] | null>;
}

/** What is needed of the module `@valkey/valkey-glide` itself. */
export interface GlideModule {
  readonly Batch: new (isAtomic: boolean) => GlideBatch;
  readonly ClusterBatch: new (isAtomic: boolean) => GlideBatch;
  readonly GlideClusterClient: {
    readonly prototype: unknown;
  };
  readonly Decoder: {
    readonly Bytes: unknown;
  };
}

/** The adapter of a valkey-glide client. */
export interface ValkeyGlideDialCacheClient extends DialCacheRedisClient {
  /** Does nothing: the adapter owns nothing. Here for code written for DialCache's adapter, which does. */
  dispose(): void;
}

type GlideArgs = (string | Buffer)[];

export {};
