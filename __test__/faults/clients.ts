import * as glide from "@valkey/valkey-glide";
import { type DialCacheRedisClient, RedisClient } from "dialcache-native";
import { createIoredisDialCacheClient } from "dialcache-native/ioredis";
import { createNodeRedisDialCacheClient } from "dialcache-native/node-redis";
import { createValkeyGlideDialCacheClient } from "dialcache-native/valkey-glide";
import { Cluster, Redis } from "ioredis-5";
import { createClient, createCluster } from "redis";
import { until } from "../support/real-time";
import type { ClientName, RoundPlan } from "./plan";
import type { Topology } from "./topology";

// It writes a line to stdout for each error of its own.
glide.Logger.init("off");

/** A connected client, with the means to see what is left of it. */
export interface FaultClient {
  readonly name: ClientName;
  readonly client: DialCacheRedisClient;
  /** What it still has to do; 0 when nothing is left. */
  pending(): number;
  close(): Promise<void>;
}

type Address = { readonly host: string; readonly port: number };

const RECONNECT_MS = 100;

/** Connects a client to a topology's proxies. Every one has finite budgets, as a service would give it. */
export async function connectClient(name: ClientName, topology: Topology, plan: RoundPlan): Promise<FaultClient> {
  const addresses = topology.proxies.map(({ port }) => ({ host: "127.0.0.1", port }));
  const isCluster = topology.cluster !== undefined;
  if (name === "native") return connectNative(addresses, isCluster, plan);
  const { client, close } = await CONNECT[name](addresses, isCluster);
  return { name, close, ...counted(client) };
}

async function connectNative(addresses: Address[], isCluster: boolean, plan: RoundPlan): Promise<FaultClient> {
  const client = new RedisClient({
    ...(isCluster ? { nodes: addresses } : { url: `redis://127.0.0.1:${addresses[0]!.port}` }),
    responseTimeoutMs: plan.responseTimeoutMs,
    connectTimeoutMs: 500,
    reconnect: { baseDelayMs: 20, maxDelayMs: 500 },
  });
  await client.ready({ timeoutMs: 5_000 });
  return {
    name: "native",
    client,
    pending: () => {
      const { pending, pendingBytes } = client.stats();
      return pending + pendingBytes;
    },
    close: async () => client.close(),
  };
}

/** The same client, its unanswered calls counted. */
function counted(client: DialCacheRedisClient): Pick<FaultClient, "client" | "pending"> {
  let pending = 0;
  const count = async <T>(call: () => T | PromiseLike<T>): Promise<T> => {
    pending += 1;
    try {
      return await call();
    } finally {
      pending -= 1;
    }
  };
  return {
    pending: () => pending,
    client: {
      read: (request, context) => count(() => client.read(request, context)),
      write: (request) => count(() => client.write(request)),
      invalidate: (request) => count(() => client.invalidate(request)),
    },
  };
}

type Connected = { readonly client: DialCacheRedisClient; close(): Promise<void> };

const CONNECT: Record<
  Exclude<ClientName, "native">,
  (addresses: Address[], isCluster: boolean) => Promise<Connected>
> = {
  "node-redis": async (addresses, isCluster) => {
    const socket = {
      connectTimeout: 500,
      // Without it a server that has stopped answering is noticed by TCP alone.
      socketTimeout: 1_000,
      reconnectStrategy: (retries: number) => Math.min(20 * 2 ** retries, RECONNECT_MS),
    };
    const commandOptions = { timeout: 1_000 };
    const client = isCluster
      ? createCluster({
          rootNodes: addresses.map((address) => ({ socket: { ...socket, ...address } })),
          defaults: { socket, commandsQueueMaxLength: 5_000 },
          commandOptions,
        })
      : createClient({ socket: { ...socket, ...addresses[0]! }, commandOptions, commandsQueueMaxLength: 5_000 });
    client.on("error", () => {});
    await client.connect();
    return {
      client: createNodeRedisDialCacheClient(client as never),
      close: async () => {
        if (client.isOpen) client.destroy();
      },
    };
  },
  ioredis: async (addresses, isCluster) => {
    const options = {
      connectTimeout: 500,
      commandTimeout: 1_000,
      socketTimeout: 1_000,
      maxRetriesPerRequest: 2,
      retryStrategy: () => RECONNECT_MS,
    };
    const client = isCluster
      ? new Cluster(addresses, {
          redisOptions: options,
          clusterRetryStrategy: () => RECONNECT_MS,
          slotsRefreshTimeout: 500,
        })
      : new Redis({ ...options, ...addresses[0]! });
    client.on("error", () => {});
    await until("ioredis is connected", () => client.status === "ready");
    return {
      client: createIoredisDialCacheClient(client as never),
      close: async () => client.disconnect(),
    };
  },
  glide: async (addresses, isCluster) => {
    const options = {
      addresses,
      requestTimeout: 500,
      advancedConfiguration: { connectionTimeout: 500 },
      connectionBackoff: { numberOfRetries: 2, factor: 20, exponentBase: 2 },
    };
    const client = isCluster
      ? await glide.GlideClusterClient.createClient(options)
      : await glide.GlideClient.createClient(options);
    return {
      client: createValkeyGlideDialCacheClient(client, glide),
      close: async () => client.close(),
    };
  },
};
