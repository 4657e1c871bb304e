import {
  DialCache,
  type DialCacheConfig,
  DialCacheKeyConfig,
  type DialCacheRedisClient,
  JsonSerializer,
  type ReadHedgeOptions,
  RedisClient,
  type RedisConfig,
  type Serializer,
} from "dialcache-native";
import { installClock, type ManualClock, manualClock } from "dialcache-native/testing";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { connectNodeRedis, connectNodeRedisCluster, type JavaScriptClient } from "./clients";
import { ClusterServer, FrozenReplies, type RigProxy, type RigServer } from "./cluster-server";
import { startFaultProxy } from "./fault-proxy";
import { decodeFrame, encodeFrame, type TestFrame } from "./frame";
import { turns, until } from "./real-time";
import { type LoggerRecorder, type MetricsRecorder, recordLogger, recordMetrics } from "./recorders";
import { startRedis } from "./redis-server";
import { INSTALLED } from "./servers";

/** What a group of tests runs against: whose client, and who moves time. */
export interface RigKind {
  readonly client: "JavaScript client" | "native client";
  readonly time: "manual clock" | "real time";
}

/** Every combination: for what the deadline does. */
export const RIGS: readonly RigKind[] = [
  { client: "JavaScript client", time: "manual clock" },
  { client: "JavaScript client", time: "real time" },
  { client: "native client", time: "manual clock" },
  { client: "native client", time: "real time" },
];

/** For what needs exact points in time. */
export const DRIVEN_RIGS = RIGS.filter(({ time }) => time === "manual clock");

/** For what no deadline takes part in. */
export const CLIENT_RIGS = RIGS.filter(({ time }) => time === "real time");

/** Redis only, so that no local hit hides what Redis did. */
export const REMOTE_ONLY = new DialCacheKeyConfig({ ttlSec: { remote: 60 } });
/** The default, typed for values whose types are the tests' own business. */
export const JSON_SERIALIZER: Serializer<unknown> = new JsonSerializer();
/** Local only. */
export const LOCAL_ONLY = new DialCacheKeyConfig({ ttlSec: { local: 60 } });
/** Request-local only. */
export const REQUEST_LOCAL_ONLY = new DialCacheKeyConfig({ requestLocal: true });

export interface WorldOptions {
  /**
   * Whether somebody listens to metrics. Default true. Without a listener a local lookup takes a shorter way
   * through the package, so what it does is worth a test of its own.
   */
  readonly observed?: boolean;
  /** Put a fault proxy between the client and the server. Default false. */
  readonly proxy?: boolean;
  /** The instance's read deadline. Default 40 in real time, so that a test waits little; 50 by the manual clock. */
  readonly readTimeoutMs?: number;
  readonly namespace?: string;
  readonly redis?: Partial<NonNullable<DialCacheConfig["redis"]>>;
  readonly config?: Omit<DialCacheConfig, "redis" | "namespace">;
  readonly clientOptions?: Partial<ConstructorParameters<typeof RedisClient>[0]>;
}

/** Options of `World.load` beyond the usual ones. */
export interface LoadOptions {
  readonly defaultConfig?: DialCacheKeyConfig;
  readonly redisReadTimeoutMs?: number;
  readonly fallbackTimeoutMs?: number | null;
  readonly serializer?: Serializer<unknown>;
  readonly keyType?: string;
  readonly trackForInvalidation?: boolean;
  readonly readHedge?: ReadHedgeOptions | undefined;
}

/** A cached function, called inside an `enable()` scope of its own. */
export type Load<Value> = (id: string) => Promise<Value>;

/** A cache, its client and its real server, for one test. */
export interface World {
  readonly cache: DialCache;
  readonly client: DialCacheRedisClient;
  /** The native client, when it is the one under test. */
  readonly native: RedisClient | undefined;
  readonly server: RigServer;
  /** Throws unless asked for. */
  readonly proxy: RigProxy;
  readonly clock: ManualClock | undefined;
  readonly metrics: MetricsRecorder;
  readonly log: LoggerRecorder;
  readonly namespace: string;
  readonly readTimeoutMs: number;
  /** `cached` over `source` with the tests' usual options: key type `user_id`, the first argument as id, Redis only. */
  load<Value>(useCase: string, source: (id: string) => Value | Promise<Value>, options?: LoadOptions): Load<Value>;
  /** What was counted for `useCase`, which must be registered. */
  stats(useCase: string): NonNullable<ReturnType<DialCache["stats"]>["useCases"][string]>;
  /** Unanswered flights. */
  flights(): ReturnType<DialCache["getCoalescingState"]>["process"];
  /** Waits until `count` leaders of `useCase` have started their Redis read. */
  readStarted(useCase: string, count?: number): Promise<void>;
  /** Lets `ms` pass by the manual clock; in real time it just passes while the test awaits what follows. */
  lapse(ms?: number): Promise<void>;
  /** Waits until late replies have arrived at the client and been looked at. */
  lateSettled(): Promise<void>;
  /** The Redis key of an untracked value. */
  key(useCase: string, id: string, keyType?: string): string;
  /** The Redis keys of a tracked value and of its watermark. */
  trackedKeys(useCase: string, id: string): { readonly value: string; readonly watermark: string };
  /** Puts a frame with `payload` under an untracked value's key. */
  plant(useCase: string, id: string, payload: string | Buffer): Promise<void>;
  /** What Redis holds there; null when nothing. */
  stored(useCase: string, id: string): Promise<TestFrame | null>;
  /** How often the server has executed a command, such as "get", since the world was made. */
  calls(command: string): Promise<number>;
  /** Waits for background writes. */
  written(): Promise<void>;
  /** A second cache over the same client. */
  another(config?: Partial<DialCacheConfig>): DialCache;
}

export interface Rig {
  readonly kind: RigKind;
  readonly driven: boolean;
  readonly server: RigServer;
  world(options?: WorldOptions): Promise<World>;
}

/** Whether the run's server is a cluster; which binary it is, `REDIS_SERVER` says. */
const { REDIS_CLUSTER } = process.env;
const onCluster = REDIS_CLUSTER === "yes";

/** Rigs of this file that are not done. */
let sharers = 0;
let cluster: Promise<ClusterServer> | undefined;

/** Started once: that takes seconds. */
function sharedCluster(binary: string): Promise<ClusterServer> {
  cluster ??= ClusterServer.start(binary);
  return cluster;
}

let worlds = 0;

/** Starts one server for the calling `describe` and makes worlds over it. A cluster serves all rigs of its file. */
export function useRig(kind: RigKind): Rig {
  let server: RigServer | undefined;
  sharers += 1;
  beforeAll(async () => {
    const { binary } = INSTALLED;
    server = onCluster ? await sharedCluster(binary) : await startRedis({ binary });
  });
  afterAll(async () => {
    sharers -= 1;
    if (!onCluster || sharers === 0) await server?.stop();
  });
  const running = () => {
    if (server === undefined) {
      throw new Error("the rig's server is not started yet");
    }
    return server;
  };
  return {
    kind,
    driven: kind.time === "manual clock",
    get server() {
      return running();
    },
    world: (options = {}) => makeWorld(kind, running(), options),
  };
}

async function makeWorld(kind: RigKind, server: RigServer, options: WorldOptions): Promise<World> {
  const { client, proxy } = await connectWorld(kind, server, options);
  await server.command("CONFIG", "RESETSTAT");

  const clock = kind.time === "manual clock" ? manualClock() : undefined;
  const uninstall = clock === undefined ? () => {} : installClock(clock);
  const metrics = recordMetrics();
  const log = recordLogger();
  worlds += 1;
  const namespace = options.namespace ?? `world-${worlds}`;
  const readTimeoutMs = options.readTimeoutMs ?? (clock === undefined ? 40 : 50);
  const caches: DialCache[] = [];
  const another = (config: Partial<DialCacheConfig> = {}): DialCache => {
    const cache = new DialCache({
      namespace,
      redis: { client, readTimeoutMs, ...options.redis } as RedisConfig,
      ...(options.observed === false ? {} : { metrics: metrics.adapter }),
      logger: log.logger,
      ...options.config,
      ...config,
    });
    caches.push(cache);
    return cache;
  };
  const cache = another();

  onTestFinished(async () => {
    server.thaw();
    proxy?.heal();
    for (const made of caches) {
      await made.close();
    }
    await client.close();
    await proxy?.close();
    uninstall();
  });

  const key = (useCase: string, id: string, keyType = "user_id") =>
    `${namespace}:${keyType}:${encodeURIComponent(id)}#${encodeURIComponent(useCase)}:dialcache-frame-v1`;
  const tag = (id: string) => `{${namespace}:user_id:${encodeURIComponent(id)}}`;
  const trackedKeys = (useCase: string, id: string) => ({
    value: `${tag(id)}#${encodeURIComponent(useCase)}:dialcache-frame-v1`,
    watermark: `${tag(id)}#watermark`,
  });
  const stats = (useCase: string) => useCaseStats(cache, useCase);
  return {
    cache,
    client,
    load: (useCase, source, loadOptions) => loader(cache, useCase, source, loadOptions),
    stats,
    flights: () => cache.getCoalescingState().process,
    native: client instanceof RedisClient ? client : undefined,
    server,
    get proxy() {
      if (proxy === undefined) {
        throw new Error("this world was made without a proxy");
      }
      return proxy;
    },
    clock,
    metrics,
    log,
    namespace,
    readTimeoutMs,
    readStarted: (useCase, count = 1) =>
      until(`read ${count} of ${useCase} started`, () => stats(useCase).readDeadlinesArmed >= count),
    lapse: async (ms = readTimeoutMs) => {
      await clock?.advance(ms);
    },
    lateSettled: async () => {
      await until(
        "the late replies",
        () => (client instanceof RedisClient ? client.stats().pending : client.pending) === 0,
      );
      await turns(5);
    },
    key,
    trackedKeys,
    plant: async (useCase, id, payload) => {
      // SETEX and GETRANGE, so that `calls` of get and set counts only what the cache did.
      await server.command("SETEX", key(useCase, id), 600, encodeFrame(payload, Date.now()));
    },
    stored: async (useCase, id) => {
      const bytes = await server.command("GETRANGE", key(useCase, id), 0, -1);
      return Buffer.isBuffer(bytes) && bytes.length > 0 ? decodeFrame(bytes) : null;
    },
    calls: async (command) => {
      const info = String(await server.command("INFO", "commandstats"));
      const counted = info.matchAll(new RegExp(`cmdstat_${command}:calls=(\\d+)`, "g"));
      return [...counted].reduce((sum, [, calls]) => sum + Number(calls), 0);
    },
    written: async () => {
      await until("background writes end", () => cache.stats().pendingWrites === 0);
    },
    another,
  };
}

/** What `cache` counted for `useCase`, which must be registered. */
export function useCaseStats(cache: DialCache, useCase: string): ReturnType<World["stats"]> {
  const counted = cache.stats().useCases[useCase];
  if (counted === undefined) {
    throw new Error(`${useCase} is not registered`);
  }
  return counted;
}

/** `World.load` over any cache. */
export function loader<Value>(
  cache: DialCache,
  useCase: string,
  source: (id: string) => Value | Promise<Value>,
  options: LoadOptions = {},
): Load<Value> {
  const { keyType = "user_id", defaultConfig = REMOTE_ONLY, ...rest } = options;
  const load = cache.cached((id: string): unknown => source(id), {
    keyType,
    useCase,
    cacheKey: (id) => id,
    defaultConfig,
    serializer: JSON_SERIALIZER,
    ...rest,
  });
  return (id) => cache.enable(() => load(id)) as Promise<Value>;
}

/** A world's client, with something between it and the server if that is asked for. */
async function connectWorld(
  kind: RigKind,
  server: RigServer,
  options: WorldOptions,
): Promise<{ client: RedisClient | JavaScriptClient; proxy: RigProxy | undefined }> {
  const isNative = kind.client === "native client";
  if (server instanceof ClusterServer) {
    const nodes = server.cluster.addresses;
    const client = isNative ? await connectNative({ nodes }, options) : await connectNodeRedisCluster(nodes);
    return { client, proxy: options.proxy ? new FrozenReplies(server) : undefined };
  }
  const proxy = options.proxy ? await startFaultProxy(Number(new URL(server.url).port)) : undefined;
  const url = proxy?.url ?? server.url;
  return { client: isNative ? await connectNative({ url }, options) : await connectNodeRedis(url), proxy };
}

async function connectNative(
  target: ConstructorParameters<typeof RedisClient>[0],
  options: WorldOptions,
): Promise<RedisClient> {
  const client = new RedisClient({ ...target, ...options.clientOptions } as ConstructorParameters<
    typeof RedisClient
  >[0]);
  await client.ready({ timeoutMs: 5_000 });
  return client;
}

/** The client of a rig, connected or not, for tests that make their caches themselves. */
export async function connectClient(kind: RigKind, url: string, wait = true): Promise<RedisClient | JavaScriptClient> {
  if (kind.client === "JavaScript client") {
    return connectNodeRedis(url, wait);
  }
  const client = new RedisClient({ url });
  if (wait) {
    await client.ready({ timeoutMs: 5_000 });
  }
  return client;
}
