// The public API, generated from lib/adapters/ioredis.ts by `npm run types`. Do not edit.
/// <reference types="node" />

import type { DialCacheRedisClient } from "./index.js";

/**
 * Makes an ioredis or iovalkey client usable as `redis.client`. The client stays yours: give it an `error` listener and
 * finite budgets, and close it yourself. Text and bytes come back as they were. A `keyPrefix` is applied by the client;
 * processes that share entries need the same.
 *
 * **When a read's deadline passes** the call goes on without it, but the client is not told: it takes no signal. A *queued*
 * read stays queued, and is sent once the client is connected; a *dispatched* one holds its place until its reply comes or
 * its connection ends, and with `autoResendUnfulfilledCommands` (on by default) it is even sent again afterwards. What it
 * answers is ignored.
 *
 * **Writes and invalidations have no deadline**, and are queued and sent again in the same way. Bound all of them:
 * `commandTimeout` rejects after that time (without taking the command out of the queue), `enableOfflineQueue: false`
 * refuses what would have to wait for a connection, `maxRetriesPerRequest` ends what waits through that many attempts,
 * `autoResendUnfulfilledCommands: false` forgets what was under way, `connectTimeout` and `retryStrategy` bound connecting,
 * and `socketTimeout` notices a server that stopped answering.
 *
 * In a cluster tracked reads go to primaries whatever `scaleReads` says, inside `MULTI` where that needs it; untracked ones
 * to where it says. A write whose two commands are redirected in different ways, as may happen while its slot moves, fails.
 *
 * @param client - A `Redis` or `Cluster`.
 * @throws TypeError when it is another object.
 */
export declare function createIoredisDialCacheClient(client: IoredisClient): DialCacheRedisClient;

/** Commands sent together. */
export interface IoredisBatch {
  /** One entry for each command: its error, or null and its reply. */
  exec(): Promise<[error: Error | null, reply: unknown][] | null>;
}

/** What is needed of `Redis` or `Cluster` of ioredis 5 or 6, or of iovalkey. */
export interface IoredisClient {
  /** Sends one command, whose strings come as Buffers. */
  callBuffer(command: string, args: (string | Buffer | number)[]): Promise<unknown>;
  /** Sends commands in order on one connection. */
  pipeline(commands: unknown[][]): IoredisBatch;
  /** The same in `MULTI` and `EXEC`. */
  multi(commands: unknown[][]): IoredisBatch;
}

export {};
