import { type RedisScriptCall, scriptCommand } from "../protocol/scripts";
import type { DialCacheRedisClient, RedisReadContext } from "../redis-types";
import { Adapter, bothSettled, type CommandPort, type Pair, type ScriptName, type SetCommand } from "./adapter";
import { QueuedReads } from "./queued-signal";
import { type ReplyOrder, replyOrderOf } from "./reply-order";
import { slotOf } from "./slot";

export { type DialCacheRedisScript, type DialCacheRedisScripts, dialcacheRedisScripts } from "./node-redis-scripts";

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
export function createNodeRedisDialCacheClient(client: NodeRedisClient | NodeRedisCluster): DialCacheRedisClient {
  return new Adapter(new NodeRedisPort(checked(client)));
}

/** The shards of a cluster by slot, as all versions tell them. */
interface NodeRedisShards {
  readonly slots: readonly { readonly master: object; readonly replicas?: readonly unknown[] }[];
}

type AnyClient = Readonly<Record<string, unknown>> & { sendCommand(...args: unknown[]): Promise<unknown> };

function checked(client: unknown): AnyClient {
  const found = client as AnyClient | null | undefined;
  if (typeof found !== "object" || found === null || typeof found.sendCommand !== "function") {
    throw new TypeError("createNodeRedisDialCacheClient() takes a client of node-redis 4, 5 or 6");
  }
  // Their commands may go out on different connections, which a tracked write cannot bear.
  if ("idleClients" in found || "getSentinelNode" in found) {
    throw new TypeError(
      "createNodeRedisDialCacheClient() takes a client or a cluster, not a pool or a Sentinel client",
    );
  }
  return found;
}

/** RESP's marker of bulk strings, `$`, by which versions 5 and 6 name types. */
const BULK_STRING = 36;
// Version 4 reads one of them, later versions the other.
const REPLIES_AS_BYTES = { returnBuffers: true, typeMapping: { [BULK_STRING]: Buffer } } as const;

class NodeRedisPort implements CommandPort {
  readonly mayReorder: boolean;
  readonly #client: AnyClient;
  readonly #reads: QueuedReads;
  readonly #signalOption: "signal" | "abortSignal";
  /** Of version 4, which writes at once or not at all, there is none. */
  readonly #order: ReplyOrder | undefined;

  constructor(client: AnyClient) {
    const isVersion4 = !("withCommandOptions" in client);
    this.#client = client;
    this.mayReorder = "nodeByAddress" in client;
    this.#reads = new QueuedReads({ isSilent: isVersion4, keepsOldest: !isVersion4 });
    this.#signalOption = isVersion4 ? "signal" : "abortSignal";
    this.#order = isVersion4 ? undefined : replyOrderOf(client, this.mayReorder);
  }

  get(key: string, context: RedisReadContext | undefined): Promise<unknown> {
    return this.#read(key, true, ["GET", key], context);
  }

  getBoth(keys: readonly [string, string], context: RedisReadContext | undefined): Promise<unknown> {
    return this.#read(keys[0], false, ["MGET", ...keys], context);
  }

  set({ key, frame, ttlMs }: SetCommand): Promise<unknown> {
    return this.#send(key, false, ["SET", key, frame, "PX", String(ttlMs)]);
  }

  setThenScript(command: SetCommand, call: RedisScriptCall): Promise<Pair> {
    // Within one turn both join the same queue, which keeps their order.
    return bothSettled(this.set(command), this.script(call, "EVALSHA"));
  }

  script(call: RedisScriptCall, name: ScriptName): Promise<unknown> {
    return this.#send(call.keys[0], false, scriptCommand(call, name));
  }

  #read(key: string, isReadonly: boolean, args: string[], context: RedisReadContext | undefined): Promise<unknown> {
    if (context === undefined) return this.#send(key, isReadonly, args);
    const connection = () => this.#connectionOf(key, isReadonly);
    return this.#reads.send(args, context.signal, connection, (watched, signal) =>
      this.#send(key, isReadonly, watched, { [this.#signalOption]: signal }),
    );
  }

  /** What stands for the connection of a key; undefined when the client chooses among several. */
  #connectionOf(key: string, isReadonly: boolean): object | undefined {
    if (!this.mayReorder) return this.#client;
    const shard = (this.#client as unknown as NodeRedisShards).slots[slotOf(key)];
    return isReadonly && shard?.replicas?.length ? undefined : shard?.master;
  }

  #send(key: string, isReadonly: boolean, args: (string | Buffer)[], more?: object): Promise<unknown> {
    const connection = this.#order && this.#connectionOf(key, isReadonly);
    if (this.#order === undefined || connection === undefined) return this.#dispatch(key, isReadonly, args, more);
    return this.#order.send(
      connection,
      (along) => this.#dispatch(key, isReadonly, along),
      () => this.#dispatch(key, isReadonly, args, more),
    );
  }

  #dispatch(key: string, isReadonly: boolean, args: (string | Buffer)[], more?: object): Promise<unknown> {
    const options = { ...REPLIES_AS_BYTES, ...more };
    return this.mayReorder
      ? this.#client.sendCommand(key, isReadonly, args, options)
      : this.#client.sendCommand(args, options);
  }
}
