import { type RedisScriptCall, scriptCommand } from "../protocol/scripts";
import type { DialCacheRedisClient } from "../redis-types";
import { Adapter, type CommandPort, type Pair, type ScriptName, type SetCommand } from "./adapter";

type GlideArgs = (string | Buffer)[];

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
  readonly GlideClusterClient: { readonly prototype: unknown };
  readonly Decoder: { readonly Bytes: unknown };
}

/** The adapter of a valkey-glide client. */
export interface ValkeyGlideDialCacheClient extends DialCacheRedisClient {
  /** Does nothing: the adapter owns nothing. Here for code written for DialCache's adapter, which does. */
  dispose(): void;
}

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
export function createValkeyGlideDialCacheClient(
  client: GlideClientLike,
  glideModule: GlideModule,
): ValkeyGlideDialCacheClient {
  for (const name of ["Batch", "ClusterBatch", "GlideClusterClient", "Decoder"] as const) {
    if ((glideModule as GlideModule | null | undefined)?.[name] === undefined) {
      throw new TypeError(
        "createValkeyGlideDialCacheClient() takes the module @valkey/valkey-glide as second argument",
      );
    }
  }
  for (const method of ["customCommand", "exec"] as const) {
    if (typeof (client as GlideClientLike | null | undefined)?.[method] !== "function") {
      throw new TypeError("createValkeyGlideDialCacheClient() takes a client of valkey-glide 2");
    }
  }
  return new GlideAdapter(new GlidePort(client, glideModule));
}

class GlideAdapter extends Adapter implements ValkeyGlideDialCacheClient {
  dispose(): void {}
}

class GlidePort implements CommandPort {
  readonly mayReorder: boolean;
  readonly #client: GlideClientLike;
  readonly #module: GlideModule;
  readonly #options: object;

  constructor(client: GlideClientLike, glideModule: GlideModule) {
    this.#client = client;
    this.#module = glideModule;
    this.mayReorder = client instanceof (glideModule.GlideClusterClient as new () => unknown);
    this.#options = { decoder: glideModule.Decoder.Bytes };
  }

  get(key: string): Promise<unknown> {
    return this.#send(["GET", key]);
  }

  async getBoth(keys: readonly [string, string]): Promise<unknown> {
    // A batch goes to the primary, which a single command that only reads may not.
    const [reply] = await this.#batch([["MGET", ...keys]], keys[0]);
    if (reply?.status === "rejected") throw reply.reason;
    return reply?.value;
  }

  set(command: SetCommand): Promise<unknown> {
    return this.#send(setArgs(command));
  }

  async setThenScript(command: SetCommand, call: RedisScriptCall): Promise<Pair> {
    const replies = await this.#batch([setArgs(command), scriptCommand(call, "EVALSHA")], command.key);
    return replies as unknown as Pair;
  }

  script(call: RedisScriptCall, name: ScriptName): Promise<unknown> {
    return this.#send(scriptCommand(call, name));
  }

  #send(args: GlideArgs): Promise<unknown> {
    return this.#client.customCommand(args, this.#options as never);
  }

  /** One pipeline to the primary of `key`. */
  async #batch(commands: readonly GlideArgs[], key: string): Promise<PromiseSettledResult<unknown>[]> {
    const batch = this.mayReorder ? new this.#module.ClusterBatch(false) : new this.#module.Batch(false);
    for (const command of commands) batch.customCommand(command);
    const route = this.mayReorder ? { route: { type: "primarySlotKey", key } } : {};
    const replies = await this.#client.exec(batch as never, false, { ...this.#options, ...route } as never);
    if (replies === null) throw new Error("the Redis client discarded a batch");
    return replies.map((value) =>
      value instanceof Error ? { status: "rejected", reason: value } : { status: "fulfilled", value },
    );
  }
}

function setArgs({ key, frame, ttlMs }: SetCommand): GlideArgs {
  return ["SET", key, frame, "PX", String(ttlMs)];
}
