// The public API, generated from lib/adapters/node-redis.ts by `npm run types`. Do not edit.
/// <reference types="node" />

import type { DialCacheRedisClient } from "./index.js";

/**
 * For `createClient({ scripts: dialcacheRedisScripts })`. The adapter does not need them there; an application that
 * calls the scripts itself may.
 */
export declare const dialcacheRedisScripts: DialCacheRedisScripts;

/**
 * Makes a node-redis client usable as `redis.client`. The client stays yours: connect it, give it an `error` listener
 * and finite budgets, and close it yourself. It may be made with or without `scripts: dialcacheRedisScripts`: what is
 * sent is the same. Text and bytes come back as they were, whatever type mapping the client has.
 *
 * **When a read's deadline passes** its signal is aborted, which reaches the client through the command's options. A read
 * that is still *queued* (the client is offline, or its socket takes no more) leaves the queue and is never sent; but
 * for the oldest of this adapter's reads in each queue of versions 5 and 6, which stays: some of these versions
 * lose their queue when its first command is taken out. In a cluster, so does a read that was redirected, or that may
 * have gone to a replica. A *dispatched* read is not unsent: it holds its place until its reply comes or its connection
 * ends, and what it answers is ignored.
 *
 * **Writes and invalidations have no deadline.** They wait in the offline queue as long as the client keeps them, and
 * are sent when it is connected again, unless `disableOfflineQueue` is set. Bound them with `disableOfflineQueue`,
 * `commandsQueueMaxLength`, `socket.connectTimeout` and a `socket.reconnectStrategy`; in versions 5 and 6 also
 * `socket.socketTimeout`, without which a server that stopped answering is noticed only by TCP, and
 * `commandOptions.timeout`, which ends what is queued. A command whose connection ends after it was sent is rejected
 * and not sent again.
 *
 * **After a reconnection** versions 5 may give each reply to a later command than its own, another key's value for
 * example: they wait for replies to what they wrote to the ended socket. The adapter keeps versions from 5.9 on from that
 * write. In 5 and 6 it also believes the replies of a connection only when a `PING` of its own came back on it; where
 * another reply comes in its place, reads fail and the connection is ended by `QUIT`, which puts it right. Neither reaches
 * commands that you send yourself, nor reads that the client may send to replicas.
 *
 * Tracked reads go to primaries; untracked ones to where the client's `useReplicas` says. A cluster of versions 4 and 5 asks
 * who serves what only when a node sends it elsewhere: after a primary died, calls for its slots run their sources until it
 * is back, though a replica has taken over.
 *
 * @param client - Of `createClient()` or `createCluster()`. Pools, Sentinel and `legacyMode` are not supported.
 * @throws TypeError when it is another object.
 */
export declare function createNodeRedisDialCacheClient(
  client: NodeRedisClient | NodeRedisCluster,
): DialCacheRedisClient;

/** What is needed of a client made by `createClient()` of node-redis 4, 5 or 6. */
export interface NodeRedisClient {
  /** Sends one command. */
  sendCommand(args: (string | Buffer)[], options?: never): Promise<unknown>;
}

/** What is needed of a client made by `createCluster()` of node-redis 4, 5 or 6. */
export interface NodeRedisCluster {
  /** Sends one command to the node of a key. */
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: (string | Buffer)[],
    options?: never,
  ): Promise<unknown>;
  /** Tells a cluster from a single server. */
  readonly nodeByAddress: unknown;
}

/** A script as `createClient({ scripts })` of node-redis takes it, in the form of version 4 and in that of 5 and 6. */
export type DialCacheRedisScript<Args extends unknown[], Reply> = {
  readonly SCRIPT: string;
  readonly SHA1: string;
  readonly NUMBER_OF_KEYS: number;
  readonly FIRST_KEY_INDEX: number;
  readonly IS_READ_ONLY: false;
  transformArguments(this: void, ...args: Args): (string | Buffer)[];
  parseCommand(
    this: void,
    parser: {
      push(...args: (string | Buffer)[]): unknown;
      pushKey(key: string | Buffer): unknown;
    },
    ...args: Args
  ): void;
  transformReply(this: void, reply: unknown): Reply;
};

/** The scripts of tracked keys, by the names they get as methods of the client. */
export type DialCacheRedisScripts = {
  /** Stamps a placeholder: value key, watermark key, nonce, time to live in milliseconds. */
  readonly dialcacheStamp: DialCacheRedisScript<
    [valueKey: string, watermarkKey: string, nonce: Buffer, cacheTtlMs: number],
    boolean
  >;
  /** Raises a watermark: its key, the buffer in milliseconds. */
  readonly dialcacheInvalidate: DialCacheRedisScript<[watermarkKey: string, futureBufferMs: number], void>;
};

export {};
