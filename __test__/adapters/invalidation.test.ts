import { DialCache, DialCacheKeyConfig, type DialCacheRedisClient } from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CLIENTS, type ConnectedAdapter, type Target } from "../support/adapters";
import { deferred } from "../support/deferred";
import { decodeFrame } from "../support/frame";
import { until } from "../support/real-time";
import { recordLogger } from "../support/recorders";
import { startCluster } from "../support/redis-cluster";
import { startRedis } from "../support/redis-server";
import type { Reply } from "../support/resp";
import { useCaseStats } from "../support/rig";
import { SERVERS } from "../support/servers";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const REMOTE = new DialCacheKeyConfig({ ttlSec: { remote: 600 } });
const BOTH = DialCacheKeyConfig.enabled(600);
/** Longer than any test. */
const BUFFER_MS = 600_000;

/** A server or a cluster. */
interface Store extends AsyncDisposable {
  readonly target: Target;
  /** Runs one command where a key is. */
  command(key: string, ...args: string[]): Promise<Reply>;
  /** Makes it forget all scripts. */
  flushScripts(): Promise<unknown>;
}

async function startOne(binary: string): Promise<Store> {
  const server = await startRedis({ binary });
  return {
    target: { port: server.port },
    command: (_key, ...args) => server.command(...args),
    flushScripts: () => server.command("SCRIPT", "FLUSH"),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

async function startMany(binary: string): Promise<Store> {
  const cluster = await startCluster({ binary, replicas: 0 });
  return {
    target: { nodes: cluster.addresses },
    command: (key, ...args) => cluster.command(key, ...args),
    flushScripts: () => cluster.everywhere("SCRIPT", "FLUSH"),
    [Symbol.asyncDispose]: () => cluster.stop(),
  };
}

let worlds = 0;

/** A source whose values are the number of changes so far, and caches over it in a namespace of its own. */
function makeWorld() {
  worlds += 1;
  const namespace = `invalidation-${worlds}`;
  let version = 0;
  let sourceCalls = 0;
  const gates: Promise<void>[] = [];
  return {
    namespace,
    get sourceCalls() {
      return sourceCalls;
    },
    change: () => {
      version += 1;
    },
    /** Holds the next load back until the answer is called. */
    hold: () => {
      const gate = deferred<void>();
      gates.push(gate.promise);
      return () => gate.resolve();
    },
    over: (client: DialCacheRedisClient, defaultConfig: DialCacheKeyConfig) => {
      const log = recordLogger();
      const cache = new DialCache({ namespace, redis: { client, readTimeoutMs: 20_000 }, logger: log.logger });
      onTestFinished(() => cache.close());
      const load = cache.cached(
        async (_id: string) => {
          const seen = version;
          sourceCalls += 1;
          await gates.shift();
          return seen;
        },
        { keyType: "user_id", useCase: "Get", cacheKey: (id) => id, defaultConfig, trackForInvalidation: true },
      );
      return {
        cache,
        log,
        /** Loads an id, and waits until what follows from that is done. */
        load: async (id: string) => {
          const value = await cache.enable(() => load(id));
          expect(await cache.drain({ timeoutMs: 20_000 })).toBe(true);
          return value;
        },
        /** Loads an id, and lets a write go on by itself. */
        start: (id: string) => cache.enable(() => load(id)),
        stats: () => useCaseStats(cache, "Get"),
      };
    },
  };
}

describe.each(
  SERVERS.flatMap(({ name, binary }) => [
    { name, start: () => startOne(binary) },
    { name: `a cluster of ${name}`, start: () => startMany(binary) },
  ]),
)("$name", ({ start }) => {
  let store: Store;
  const connected: ConnectedAdapter[] = [];
  beforeAll(async () => {
    store = await start();
    for (const kind of CLIENTS) connected.push(await kind.connect(store.target));
  });
  afterAll(async () => {
    for (const { close } of connected) close();
    await store[Symbol.asyncDispose]();
  });

  describe.each(CLIENTS.map(({ name }, index) => ({ name, index })))("$name", ({ index }) => {
    const clientOf = () => connected[index]!.client;

    it("loads, stamps and hits; once invalidated, loads and writes nothing within the buffer", async () => {
      const world = makeWorld();
      const { cache, load, stats, log } = world.over(clientOf(), REMOTE);
      const valueKey = `{${world.namespace}:user_id:1}#Get:dialcache-frame-v1`;

      await store.flushScripts();
      expect(await load("1")).toBe(0);
      expect(stats().writes).toMatchObject({ ok: 1, fenced: 0, failed: 0 });
      expect(decodeFrame((await store.command(valueKey, "GET", valueKey)) as Buffer)).toMatchObject({ version: 1 });
      world.change();
      expect(await load("1")).toBe(0);
      expect(world.sourceCalls).toBe(1);

      await store.flushScripts();
      await cache.invalidateRemote("user_id", "1", BUFFER_MS);
      await store.flushScripts();
      expect(await load("1")).toBe(1);
      expect(await load("1")).toBe(1);
      expect(world.sourceCalls).toBe(3);
      expect(stats().writes).toMatchObject({ ok: 1, fenced: 2, failed: 0 });
      expect(await store.command(valueKey, "EXISTS", valueKey)).toBe(0);
      expect(log.warnings).toEqual([]);
    });

    it("hits again after the buffer", async () => {
      const world = makeWorld();
      const { cache, load, stats, log } = world.over(clientOf(), REMOTE);
      await load("1");
      world.change();
      await cache.invalidateRemote("user_id", "1", 50);
      await until("a write is taken", async () => {
        expect(await load("1")).toBe(1);
        return stats().writes.ok === 2;
      });
      world.change();
      const { sourceCalls } = world;
      // What the next load finds was loaded after the invalidation.
      expect(await load("1")).toBe(1);
      expect(world.sourceCalls).toBe(sourceCalls);
      expect(log.warnings).toEqual([]);
    });

    it("keeps a load that began before the invalidation out of every layer", async () => {
      const world = makeWorld();
      const { cache, load, start, stats } = world.over(clientOf(), BOTH);
      await load("1");
      expect(cache.stats().local.entries).toBe(1);
      await load("1");
      expect(world.sourceCalls).toBe(1);
      await cache.invalidateRemote("user_id", "1", BUFFER_MS);
      expect(cache.stats().local.entries).toBe(0);

      const release = world.hold();
      const slow = start("1");
      await until("the source runs", () => world.sourceCalls === 2);
      world.change();
      await cache.invalidateRemote("user_id", "1", BUFFER_MS);
      const next = load("1");
      release();
      expect(await slow).toBe(0);
      expect(await next).toBe(1);
      expect(await load("1")).toBe(1);
      expect(cache.stats().local.entries).toBe(0);
      expect(stats().writes).toMatchObject({ ok: 1, fenced: 3, failed: 0 });
    });
  });

  it("what one client's cache has loaded or invalidated holds for every other's", async () => {
    const world = makeWorld();
    const caches = connected.map(({ client }) => world.over(client, REMOTE));
    for (const [writer, { load }] of caches.entries()) {
      const id = `of ${writer}`;
      const value = await load(id);
      const { sourceCalls } = world;
      expect(await Promise.all(caches.map((reader) => reader.load(id)))).toEqual(caches.map(() => value));
      expect(world.sourceCalls).toBe(sourceCalls);
      world.change();
      await caches[(writer + 1) % caches.length]!.cache.invalidateRemote("user_id", id, BUFFER_MS);
      expect(await Promise.all(caches.map((reader) => reader.load(id)))).toEqual(caches.map(() => value + 1));
      expect(world.sourceCalls).toBe(sourceCalls + caches.length);
    }
    for (const { log } of caches) expect(log.warnings).toEqual([]);
  });
});
