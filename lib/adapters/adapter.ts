import { installedClock } from "../clock";
import { decodeFrame, encodeFrame, encodePlaceholder } from "../protocol/frame";
import { invalidateReply, isPlaceholderLost, setReply, stampReply } from "../protocol/replies";
import { invalidateCall, isNoScriptError, type RedisScriptCall, stampCall } from "../protocol/scripts";
import { decodeTrackedReply } from "../protocol/watermark";
import type {
  DialCacheRedisClient,
  RedisInvalidationRequest,
  RedisReadContext,
  RedisReadHit,
  RedisReadRequest,
  RedisWriteRequest,
} from "../redis-types";

/** One `SET key frame PX ttl`. */
export interface SetCommand {
  readonly key: string;
  readonly frame: Buffer;
  readonly ttlMs: number;
}

/** How a script is named: by its hash, or by its text where the server does not know it yet. */
export type ScriptName = "EVALSHA" | "EVAL";

/** How the two commands of a tracked write ended. */
export type Pair = readonly [set: PromiseSettledResult<unknown>, script: PromiseSettledResult<unknown>];

/** The few commands a client is needed for. Replies are what the server said, strings as bytes; its errors reject. */
export interface CommandPort {
  /** Whether a redirection may let the script of a pair arrive before its `SET`, as in a cluster. */
  readonly mayReorder: boolean;
  get(key: string, context: RedisReadContext | undefined): Promise<unknown>;
  /** `MGET`, as one command, of the primary. */
  getBoth(keys: readonly [value: string, watermark: string], context: RedisReadContext | undefined): Promise<unknown>;
  set(command: SetCommand): Promise<unknown>;
  /** Both without a wait in between, in this order, on one connection. */
  setThenScript(command: SetCommand, call: RedisScriptCall): Promise<Pair>;
  script(call: RedisScriptCall, name: ScriptName): Promise<unknown>;
}

/** What the package's adapters have in common: everything but the way a command is sent. */
export class Adapter implements DialCacheRedisClient {
  readonly #port: CommandPort;
  readonly #wallNow: () => number;

  constructor(port: CommandPort) {
    this.#port = port;
    const clock = installedClock();
    this.#wallNow = clock === undefined ? () => Date.now() : () => Math.trunc(clock.wallNow());
  }

  async read(request: RedisReadRequest, context?: RedisReadContext): Promise<RedisReadHit | null> {
    const { valueKey, watermarkKey } = request;
    return watermarkKey === undefined
      ? decodeFrame(await this.#port.get(valueKey, context))
      : decodeTrackedReply(await this.#port.getBoth([valueKey, watermarkKey], context));
  }

  async write(request: RedisWriteRequest): Promise<boolean> {
    const { valueKey: key, watermarkKey, cacheTtlMs: ttlMs, value } = request;
    if (watermarkKey === undefined) {
      setReply(await this.#port.set({ key, frame: encodeFrame(value, this.#wallNow()), ttlMs }));
      return true;
    }
    const { frame, nonce } = encodePlaceholder(value);
    const stamp = stampCall({ valueKey: key, watermarkKey, nonce, cacheTtlMs: ttlMs });
    const [set, stamped] = await this.#port.setThenScript({ key, frame, ttlMs }, stamp);
    if (set.status === "rejected") throw set.reason;
    setReply(set.value);
    return stampReply(await this.#stampAgain(stamp, stamped));
  }

  async invalidate(request: RedisInvalidationRequest): Promise<void> {
    const call = invalidateCall(request);
    invalidateReply(await this.#run(call));
  }

  /** The stamp's reply. Once more, alone, where it did nothing and may do something now that the `SET` is known to be done. */
  #stampAgain(stamp: RedisScriptCall, first: PromiseSettledResult<unknown>): Promise<unknown> {
    if (first.status === "rejected") return this.#load(stamp, first.reason);
    if (this.#port.mayReorder && isPlaceholderLost(first.value)) return this.#run(stamp);
    return Promise.resolve(first.value);
  }

  #run(call: RedisScriptCall): Promise<unknown> {
    return this.#port.script(call, "EVALSHA").catch((error: unknown) => this.#load(call, error));
  }

  async #load(call: RedisScriptCall, error: unknown): Promise<unknown> {
    if (!isNoScriptError(error)) throw error;
    return this.#port.script(call, "EVAL");
  }
}

/** Settles both; neither is left without a handler meanwhile. */
export function bothSettled(set: Promise<unknown>, script: Promise<unknown>): Promise<Pair> {
  return Promise.allSettled([set, script]);
}
