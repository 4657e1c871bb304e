import * as glide from "@valkey/valkey-glide";
import { type DialCacheRedisClient, RedisClient } from "dialcache-native";
import { createIoredisDialCacheClient } from "dialcache-native/ioredis";
import { createNodeRedisDialCacheClient, dialcacheRedisScripts } from "dialcache-native/node-redis";
import { createValkeyGlideDialCacheClient } from "dialcache-native/valkey-glide";
import * as ioredis5 from "ioredis-5";
import * as ioredis6 from "ioredis-6";
import * as iovalkey from "iovalkey";
import * as redis5 from "redis";
import * as redis4 from "redis-4";
import * as redis6 from "redis-6";
import { until } from "./real-time";

// It writes a line to stdout for each error that a server answers, which tests provoke.
glide.Logger.init("off");

/** Where a client connects: a server, or the nodes of a cluster. */
export type Target =
  | {
      readonly port: number;
      /** valkey-glide's. Default 5000. */
      readonly requestTimeoutMs?: number;
    }
  | { readonly nodes: readonly { readonly host: string; readonly port: number }[]; readonly readReplicas?: boolean };

/** A connected client of somebody's package with this package's adapter around it. */
export interface ConnectedAdapter {
  readonly client: DialCacheRedisClient;
  /** Ends it at once, whatever the server does. */
  close(): void;
}

/** One supported package. */
export interface AdapterKind {
  readonly name: string;
  /** Whether a read's signal takes a queued read back. */
  readonly takesSignal: boolean;
  /** Whether the oldest queued read stays nevertheless. Default false. */
  readonly keepsOldest?: boolean;
  /** Whether a cluster's new primaries are found only by redirections. Default false. */
  readonly needsRedirection?: boolean;
  connect(target: Target): Promise<ConnectedAdapter>;
}

type NodeRedis = typeof redis4 | typeof redis5 | typeof redis6;
type Ioredis = typeof ioredis5 | typeof ioredis6 | typeof iovalkey;

export const ADAPTERS: readonly AdapterKind[] = [
  nodeRedis("node-redis 4", redis4),
  nodeRedis("node-redis 5", redis5),
  nodeRedis("node-redis 6", redis6),
  nodeRedis("node-redis 5 with scripts", redis5, { scripts: dialcacheRedisScripts }),
  ioredis("ioredis 5", ioredis5),
  ioredis("ioredis 6", ioredis6),
  ioredis("iovalkey", iovalkey),
  { name: "valkey-glide", takesSignal: false, connect: connectGlide },
];

/** The adapters and the native client, alike at the interface. */
export const CLIENTS: readonly AdapterKind[] = [
  ...ADAPTERS,
  { name: "native client", takesSignal: false, connect: connectNative },
];

/** The structure that all three major versions share. */
interface NodeRedisConnection {
  readonly isOpen: boolean;
  on(event: "error", listener: () => void): unknown;
  connect(): Promise<unknown>;
  disconnect(): unknown;
}

function nodeRedis(name: string, module: NodeRedis, more: object = {}): AdapterKind {
  const socket = { connectTimeout: 2_000, reconnectStrategy: (tries: number) => Math.min(20 * 2 ** tries, 200) };
  const { createClient, createCluster } = module as unknown as {
    createClient(options: object): NodeRedisConnection;
    createCluster(options: object): NodeRedisConnection;
  };
  return {
    name,
    takesSignal: true,
    keepsOldest: module !== redis4,
    needsRedirection: module !== redis6,
    connect: async (target) => {
      const connection =
        "port" in target
          ? createClient({ ...more, socket: { ...socket, host: "127.0.0.1", port: target.port } })
          : createCluster({
              ...more,
              rootNodes: target.nodes.map((node) => ({ socket: { ...socket, ...node } })),
              defaults: { socket },
              useReplicas: target.readReplicas ?? false,
            });
      connection.on("error", () => {});
      await connection.connect();
      return {
        client: createNodeRedisDialCacheClient(connection as never),
        close: () => {
          // Not caught: a client that cannot be ended is a failure.
          if (connection.isOpen) void connection.disconnect();
        },
      };
    },
  };
}

/** The structure that ioredis 5 and 6 and iovalkey share. */
interface IoredisConnection {
  readonly status: string;
  on(event: "error", listener: () => void): unknown;
  disconnect(): void;
}

function ioredis(name: string, module: Ioredis): AdapterKind {
  const { Redis, Cluster } = module as unknown as {
    Redis: new (options: object) => IoredisConnection;
    Cluster: new (nodes: readonly object[], options: object) => IoredisConnection;
  };
  return {
    name,
    takesSignal: false,
    connect: async (target) => {
      const connection =
        "port" in target
          ? new Redis({ host: "127.0.0.1", port: target.port })
          : new Cluster(target.nodes, { scaleReads: target.readReplicas ? "slave" : "master" });
      connection.on("error", () => {});
      await until(`${name} is connected`, () => connection.status === "ready");
      return { client: createIoredisDialCacheClient(connection as never), close: () => connection.disconnect() };
    },
  };
}

async function connectGlide(target: Target): Promise<ConnectedAdapter> {
  const connection =
    "port" in target
      ? await glide.GlideClient.createClient({
          addresses: [{ host: "127.0.0.1", port: target.port }],
          requestTimeout: target.requestTimeoutMs ?? 5_000,
        })
      : await glide.GlideClusterClient.createClient({
          addresses: [...target.nodes],
          requestTimeout: 5_000,
          readFrom: target.readReplicas ? "preferReplica" : "primary",
        });
  return { client: createValkeyGlideDialCacheClient(connection, glide), close: () => connection.close() };
}

async function connectNative(target: Target): Promise<ConnectedAdapter> {
  // It has no reads from replicas.
  const client = new RedisClient(
    "port" in target ? { url: `redis://127.0.0.1:${target.port}` } : { nodes: [...target.nodes] },
  );
  await client.ready({ timeoutMs: 10_000 });
  return { client, close: () => client.close() };
}

/** What a client read; null for a miss. Some clients tell its time as well, which is left out. */
export function payloadOf(hit: Awaited<ReturnType<DialCacheRedisClient["read"]>>): string | Buffer | null {
  return hit !== null && typeof hit === "object" && "payload" in hit ? hit.payload : hit;
}
