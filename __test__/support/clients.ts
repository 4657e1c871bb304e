import type { DialCacheRedisClient } from "dialcache-native";
import { createNodeRedisDialCacheClient } from "dialcache-native/node-redis";
import { createClient, createCluster, RESP_TYPES } from "redis";
import { type Deferred, deferred } from "./deferred";
import { decodeFrame, encodeFrame } from "./frame";
import { until } from "./real-time";

export type ReadRequest = Parameters<DialCacheRedisClient["read"]>[0];
export type ReadContext = NonNullable<Parameters<DialCacheRedisClient["read"]>[1]>;
export type ReadResult = Awaited<ReturnType<DialCacheRedisClient["read"]>>;
export type WriteRequest = Parameters<DialCacheRedisClient["write"]>[0];

/** A semantic client of the caller's own, with the means to end it. */
export interface JavaScriptClient extends DialCacheRedisClient, AsyncDisposable {
  /** Commands sent or queued and not answered yet. */
  readonly pending: number;
  read(request: ReadRequest, context?: ReadContext): Promise<ReadResult>;
  write(request: WriteRequest): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * A semantic client over node-redis 5. Untracked values as a service would read and write them itself: finite connect and
 * queue budgets, reconnecting by itself, the cooperative signal in the command's options. Tracked ones by the adapter.
 *
 * @param waitForConnection False: return at once, as with a dead server.
 */
export async function connectNodeRedis(url: string, waitForConnection = true): Promise<JavaScriptClient> {
  const client = createClient({
    ...(url.startsWith("unix://") ? {} : { url }),
    socket: {
      ...(url.startsWith("unix://") ? { path: url.slice("unix://".length), tls: false as const } : {}),
      connectTimeout: 2_000,
      reconnectStrategy: (retries: number) => Math.min(20 * 2 ** retries, 200),
    },
    commandsQueueMaxLength: 20_000,
  });
  // Without a listener node-redis ends the process at the first connection error.
  client.on("error", () => {});
  const connected = client.connect();
  connected.catch(() => {});
  if (waitForConnection) {
    await connected;
  }
  const adapter = createNodeRedisDialCacheClient(client as never);
  const counter = new PendingCounter();
  const count = <T>(command: Promise<T>): Promise<T> => counter.count(command);
  const close = async () => {
    if (client.isOpen) {
      client.destroy();
    }
  };
  return {
    get pending() {
      return counter.pending;
    },
    async read(request, context) {
      const { valueKey, watermarkKey } = request;
      if (watermarkKey !== undefined) return count(Promise.resolve(adapter.read(request, context)));
      const reader = client.withCommandOptions({
        typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer },
        ...(context === undefined ? {} : { abortSignal: context.signal }),
      });
      const bytes = (await count(reader.get(valueKey))) as Buffer | null;
      const frame = bytes === null ? null : decodeFrame(bytes);
      return frame === null ? null : { payload: frame.payload, createdAtMs: frame.createdAtMs };
    },
    async write(request) {
      const { valueKey, watermarkKey, value, cacheTtlMs } = request;
      if (watermarkKey !== undefined) return count(Promise.resolve(adapter.write(request)));
      const frame = encodeFrame(value, Date.now());
      await count(client.set(valueKey, frame, { expiration: { type: "PX", value: cacheTtlMs } }));
      return true;
    },
    invalidate: async (request) => adapter.invalidate(request),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The adapter over node-redis 5 for the nodes of a cluster. */
export async function connectNodeRedisCluster(
  nodes: readonly { readonly host: string; readonly port: number }[],
): Promise<JavaScriptClient> {
  const socket = { connectTimeout: 2_000, reconnectStrategy: (retries: number) => Math.min(20 * 2 ** retries, 200) };
  const client = createCluster({
    rootNodes: nodes.map((node) => ({ socket: { ...socket, ...node } })),
    defaults: { socket, commandsQueueMaxLength: 20_000 },
  });
  client.on("error", () => {});
  await client.connect();
  const adapter = createNodeRedisDialCacheClient(client as never);
  const counter = new PendingCounter();
  const close = async () => {
    if (client.isOpen) client.destroy();
  };
  return {
    get pending() {
      return counter.pending;
    },
    read: (request, context) => counter.count(Promise.resolve(adapter.read(request, context))),
    write: (request) => counter.count(Promise.resolve(adapter.write(request))),
    invalidate: async (request) => adapter.invalidate(request),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** How many commands are unanswered. */
class PendingCounter {
  pending = 0;

  async count<T>(command: Promise<T>): Promise<T> {
    this.pending += 1;
    try {
      return await command;
    } finally {
      this.pending -= 1;
    }
  }
}

/** One `read` as the script received it, to be settled by the test. */
export interface ScriptedRead extends Deferred<ReadResult> {
  readonly request: ReadRequest;
  readonly context: ReadContext | undefined;
}

/** One `write` as the script received it, to be settled by the test. */
export interface ScriptedWrite extends Deferred<boolean> {
  readonly request: WriteRequest;
}

/**
 * A semantic client whose every settlement is the test's: the interface itself is what is tested.
 * Reads and writes are recorded in order. `autoRead` and `autoWrite` answer at once where a test does not care.
 */
export class ScriptedClient implements DialCacheRedisClient {
  readonly reads: ScriptedRead[] = [];
  readonly writes: ScriptedWrite[] = [];
  /** Everything that happened, in order. */
  readonly log: string[] = [];
  autoRead: ((request: ReadRequest, context: ReadContext | undefined) => ReadResult | Promise<ReadResult>) | undefined;
  autoWrite: ((request: WriteRequest) => boolean | Promise<boolean>) | undefined;

  // Its own parameter list: what arrives is recorded, whatever it is.
  readonly read = (request: ReadRequest, context?: ReadContext): Promise<ReadResult> | ReadResult => {
    this.log.push("read");
    const pending = deferred<ReadResult>();
    this.reads.push(Object.assign(pending, { request, context }));
    context?.signal.addEventListener("abort", () => this.log.push("abort"), { once: true });
    if (this.autoRead !== undefined) {
      return this.autoRead(request, context);
    }
    return pending.promise;
  };

  readonly write = (request: WriteRequest): Promise<boolean> | boolean => {
    this.log.push("write");
    const pending = deferred<boolean>();
    this.writes.push(Object.assign(pending, { request }));
    return this.autoWrite === undefined ? pending.promise : this.autoWrite(request);
  };

  readonly invalidate = (): Promise<void> => Promise.reject(new Error("not scripted"));

  /** The read with this number (from 0), once it was asked for. */
  async readAt(index: number): Promise<ScriptedRead> {
    await until(`read ${index}`, () => this.reads.length > index);
    return this.reads[index] as ScriptedRead;
  }

  /** The write with this number (from 0), once it was asked for. */
  async writeAt(index: number): Promise<ScriptedWrite> {
    await until(`write ${index}`, () => this.writes.length > index);
    return this.writes[index] as ScriptedWrite;
  }
}
