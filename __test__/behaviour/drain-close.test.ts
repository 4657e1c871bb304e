import { pbkdf2 } from "node:crypto";
import { promisify } from "node:util";
import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { idle, installClock, type ManualClock, manualClock } from "dialcache-native/testing";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ScriptedClient } from "../support/clients";
import { deferred } from "../support/deferred";
import { turns, until } from "../support/real-time";
import { recordLogger, recordMetrics } from "../support/recorders";
import { JSON_SERIALIZER, loader, RIGS, useCaseStats, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

describe("drain and close, by the clock", () => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = manualClock();
    onTestFinished(installClock(clock));
  });

  function scripted() {
    const client = new ScriptedClient();
    const metrics = recordMetrics();
    const log = recordLogger();
    const cache = new DialCache({
      redis: { client, readTimeoutMs: 50 },
      metrics: metrics.adapter,
      logger: log.logger,
    });
    const source = vi.fn(async (id: string) => id);
    return { client, metrics, log, cache, source, load: loader(cache, "GetUser", source) };
  }

  it("drain() is true at once when no write is pending", async () => {
    const { cache } = scripted();
    expect(await cache.drain({ timeoutMs: 1_000 })).toBe(true);
  });

  it("drain() waits for dumps and writes and is true when they settled, well or badly", async () => {
    const { client, cache, load } = scripted();
    client.autoRead = () => null;
    await Promise.all([load("1"), load("2")]);
    const settled: boolean[] = [];
    const drained = cache.drain({ timeoutMs: 1_000 }).then((done) => settled.push(done));
    (await client.writeAt(0)).resolve(true);
    await turns(5);
    expect(settled).toEqual([]);
    (await client.writeAt(1)).reject(new Error("refused"));
    await drained;
    expect(settled).toEqual([true]);
    expect(cache.stats().pendingWrites).toBe(0);
    expect(cache.stats().timers.armed).toBe(0);
  });

  it("drain() is false when it gave up, and the writes go on", async () => {
    const { client, cache, load } = scripted();
    client.autoRead = () => null;
    await load("1");
    const write = await client.writeAt(0);
    const drained = cache.drain({ timeoutMs: 200 });
    await clock.advance(200);
    expect(await drained).toBe(false);
    expect(cache.stats().pendingWrites).toBe(1);
    write.resolve(true);
    await until("the write ends", () => cache.stats().pendingWrites === 0);
    expect(await cache.drain({ timeoutMs: 200 })).toBe(true);
  });

  it("close() lets pending reads fail open at once", async () => {
    const { client, cache, load, source } = scripted();
    const results = Promise.all([load("1"), load("1"), load("2")]);
    await client.readAt(1);
    await cache.close();
    expect(await results).toEqual(["1", "1", "2"]);
    expect(source).toHaveBeenCalledTimes(2);
    expect(client.writes).toHaveLength(0);
    expect(cache.stats().timers.armed).toBe(0);
    client.reads[0]?.resolve('"late"');
    client.reads[1]?.reject(new Error("late"));
    await turns(5);
    expect(useCaseStats(cache, "GetUser").hits.remote).toBe(0);
  });

  it("close() is idempotent, alone and at once", async () => {
    const { cache } = scripted();
    await Promise.all([cache.close(), cache.close()]);
    await cache.close();
    await cache[Symbol.asyncDispose]();
  });

  it("after close() the Redis layer is off; local, request-local and source go on", async () => {
    const { client, cache, log } = scripted();
    await cache.close();
    const source = vi.fn(async (id: string) => ({ id }));
    const load = loader(cache, "Later", source, {
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true }),
    });
    const first = await load("1");
    expect(await load("1")).toBe(first);
    expect(source).toHaveBeenCalledTimes(1);
    expect(client.reads).toHaveLength(0);
    expect(client.writes).toHaveLength(0);
    expect(useCaseStats(cache, "Later").readDeadlinesArmed).toBe(0);
    expect(log.warnings).toEqual([]);
  });

  it("a source that is running when the cache closes is answered and not written", async () => {
    const { client, cache } = scripted();
    client.autoRead = () => null;
    const gate = deferred<string>();
    const load = loader(cache, "Slow", () => gate.promise);
    const result = load("1");
    await until("the source runs", () => useCaseStats(cache, "Slow").sourceCalls === 1);
    await cache.close();
    gate.resolve("source");
    expect(await result).toBe("source");
    await turns(5);
    expect(client.writes).toHaveLength(0);
    expect(cache.getCoalescingState().process.activeLeaders).toBe(0);
  });

  it("await using closes", async () => {
    const client = new ScriptedClient();
    client.autoRead = () => '"redis"';
    let outer: DialCache;
    {
      await using cache = new DialCache({ redis: { client, readTimeoutMs: 50 }, logger: null });
      outer = cache;
      expect(await loader(cache, "Inside", async () => "source")("1")).toBe("redis");
    }
    expect(await loader(outer, "Outside", async () => "source")("1")).toBe("source");
  });
});

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  it("a caller-owned client is never closed by the cache", async () => {
    const world = await rig.world({ readTimeoutMs: 10_000 });
    await world.plant("GetUser", "1", '"redis"');
    await world.cache.close();
    const other = loader(world.another(), "GetUser", async () => "source");
    expect(await other("1")).toBe("redis");
  });

  it("close() lets reads of a frozen server fail open at once, followers too", async () => {
    const world = await rig.world({ readTimeoutMs: 60_000 });
    const load = world.load("GetUser", async (id) => id);
    await world.server.freeze();
    const results = Promise.all([load("1"), load("1"), load("2")]);
    await world.readStarted("GetUser", 2);
    await world.cache.close();
    expect(await results).toEqual(["1", "1", "2"]);
    expect(world.cache.stats().timers.armed).toBe(0);
  });

  it("drain() waits for the real write", async () => {
    const world = await rig.world({ proxy: true, readTimeoutMs: 10_000 });
    const load = world.load("GetUser", async (id) => {
      world.proxy.holdReplies();
      return id;
    });
    await load("1");
    let drained: boolean | undefined;
    const draining = world.cache.drain({ timeoutMs: 30_000 }).then((done) => {
      drained = done;
    });
    await until("the reply is held", () => world.proxy.heldBytes > 0);
    expect(drained).toBeUndefined();
    world.proxy.releaseReplies();
    await draining;
    expect(drained).toBe(true);
    expect(await world.stored("GetUser", "1")).toMatchObject({ payload: '"1"' });
  });
});

describe("a client of the cache's own", () => {
  const rig = useRig({ client: "native client", time: "real time" });

  it("is made from redis.url, used, and ended by close()", async () => {
    const cache = new DialCache({
      namespace: "owned",
      redis: { url: rig.server.url, readTimeoutMs: 10_000 },
      logger: null,
    });
    const load = loader(cache, "GetUser", async () => "source");
    await load("1");
    expect(await cache.drain({ timeoutMs: 10_000 })).toBe(true);
    expect(await rig.server.command("EXISTS", "owned:user_id:1#GetUser:dialcache-frame-v1")).toBe(1);
    const others = async () => {
      const list = String(await rig.server.command("CLIENT", "LIST"));
      return list.split("\n").filter((line) => line.includes("addr=") && !line.includes("cmd=client")).length;
    };
    expect(await others()).toBe(1);
    await cache.close();
    await until("its connection is gone", async () => (await others()) === 0);
    expect(await load("1")).toBe("source");
  });

  it("is made from REDIS_URL when redis names neither client nor url", async () => {
    vi.stubEnv("REDIS_URL", rig.server.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    await using cache = new DialCache({ namespace: "environment", redis: { readTimeoutMs: 10_000 }, logger: null });
    await loader(cache, "GetUser", async () => "source")("1");
    expect(await cache.drain({ timeoutMs: 10_000 })).toBe(true);
    expect(await rig.server.command("EXISTS", "environment:user_id:1#GetUser:dialcache-frame-v1")).toBe(1);
  });

  it("is not made without redis, whatever the environment says", async () => {
    vi.stubEnv("REDIS_URL", rig.server.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    const cache = new DialCache({ namespace: "without", logger: null });
    await loader(cache, "GetUser", async () => "source")("1");
    expect(useCaseStats(cache, "GetUser").requests.remote).toBe(0);
    expect(await rig.server.command("EXISTS", "without:user_id:1#GetUser:dialcache-frame-v1")).toBe(0);
  });

  it("cannot be given together with a client", () => {
    const redis = { client: new ScriptedClient(), url: rig.server.url, readTimeoutMs: 50 };
    expect(() => new DialCache({ redis: redis as never })).toThrow(/url/);
  });
});

describe("idle()", () => {
  const rig = useRig({ client: "native client", time: "real time" });

  it("resolves when no native work is in flight: reads were answered and writes are in Redis", async () => {
    const world = await rig.world({ readTimeoutMs: 10_000 });
    const load = world.load("GetUser", async (id) => id);
    await Promise.all(Array.from({ length: 100 }, (_, id) => load(String(id))));
    await idle();
    expect(world.cache.stats().pendingWrites).toBe(0);
    expect(await world.calls("set")).toBe(100);
  });

  it("waits for a reply that is held back", async () => {
    const world = await rig.world({ proxy: true, readTimeoutMs: 10_000 });
    const load = world.load("GetUser", async (id) => id);
    world.proxy.holdReplies();
    const result = load("1");
    await until("the reply is held", () => world.proxy.heldBytes > 0);
    let resolved = false;
    const idling = idle().then(() => {
      resolved = true;
    });
    await turns(5);
    expect(resolved).toBe(false);
    world.proxy.releaseReplies();
    await idling;
    expect(await result).toBe("1");
  });
});

describe("idle() and clients in JavaScript", () => {
  const big = "some text ".repeat(200_000);

  /** Occupies every thread of Node's pool, so that what comes after has to wait. */
  function occupyPool(): Promise<unknown> {
    const hash = promisify(pbkdf2);
    return Promise.all(Array.from({ length: 4 }, () => hash("", "", 200_000, 64, "sha512")));
  }

  it("waits for a payload that is being compressed, and for one that is being decompressed", async () => {
    const client = new ScriptedClient();
    client.autoRead = () => null;
    client.autoWrite = () => true;
    const cache = new DialCache({ redis: { client, readTimeoutMs: 10_000 }, logger: null });
    const load = loader(cache, "GetText", async () => big, { serializer: JSON_SERIALIZER });
    const compressing = occupyPool();
    await load("1");
    expect(client.writes).toHaveLength(0);
    await idle();
    await turns(1);
    expect(client.writes).toHaveLength(1);

    const stored = client.writes[0]?.request.value as Buffer;
    client.autoRead = () => stored;
    let read: unknown;
    const decompressing = occupyPool();
    const reading = load("1").then((value) => {
      read = value;
    });
    await turns(1);
    expect(read).toBeUndefined();
    await idle();
    await turns(1);
    expect(read).toBe(big);
    await Promise.all([compressing, decompressing, reading]);
  });
});
