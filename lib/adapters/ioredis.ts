import { type RedisScriptCall, scriptCommand } from "../protocol/scripts";
import type { DialCacheRedisClient } from "../redis-types";
import { Adapter, type CommandPort, type Pair, type ScriptName, type SetCommand } from "./adapter";

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
export function createIoredisDialCacheClient(client: IoredisClient): DialCacheRedisClient {
  for (const method of ["callBuffer", "pipeline", "multi"] as const) {
    if (typeof (client as IoredisClient | null | undefined)?.[method] !== "function") {
      throw new TypeError("createIoredisDialCacheClient() takes a Redis or Cluster of ioredis or iovalkey");
    }
  }
  return new Adapter(new IoredisPort(client));
}

class IoredisPort implements CommandPort {
  readonly mayReorder: boolean;
  readonly #client: IoredisClient;

  constructor(client: IoredisClient) {
    this.#client = client;
    this.mayReorder = (client as { isCluster?: unknown }).isCluster === true;
  }

  get(key: string): Promise<unknown> {
    return this.#client.callBuffer("get", [key]);
  }

  async getBoth(keys: readonly [string, string]): Promise<unknown> {
    if (!this.#readsReplicas()) return this.#client.callBuffer("mget", [...keys]);
    const [reply] = await run(this.#client.multi([["mgetBuffer", ...keys]]));
    if (reply?.status === "rejected") throw reply.reason;
    return reply?.value;
  }

  set(command: SetCommand): Promise<unknown> {
    const [name, ...args] = setArgs(command);
    return this.#client.callBuffer(name, args);
  }

  async setThenScript(command: SetCommand, call: RedisScriptCall): Promise<Pair> {
    const [, ...args] = scriptCommand(call, "EVALSHA");
    const [set, script] = await run(this.#client.pipeline([setArgs(command), ["evalsha", ...args]]));
    return [set, script] as unknown as Pair;
  }

  script(call: RedisScriptCall, name: ScriptName): Promise<unknown> {
    const [, ...args] = scriptCommand(call, name);
    return this.#client.callBuffer(name.toLowerCase(), args);
  }

  /** A cluster may send what only reads to a replica. */
  #readsReplicas(): boolean {
    const { options } = this.#client as { options?: { scaleReads?: unknown } };
    return this.mayReorder && options?.scaleReads !== undefined && options.scaleReads !== "master";
  }
}

function setArgs({ key, frame, ttlMs }: SetCommand): [string, string, Buffer, string, number] {
  return ["set", key, frame, "PX", ttlMs];
}

async function run(batch: IoredisBatch): Promise<PromiseSettledResult<unknown>[]> {
  const replies = await batch.exec();
  if (replies === null) throw new Error("the Redis client discarded a transaction");
  return replies.map(([error, value]) =>
    error === null || error === undefined ? { status: "fulfilled", value } : { status: "rejected", reason: error },
  );
}
