import { AsyncLocalStorage } from "node:async_hooks";
import { DialCache, DialCacheKeyConfig, FallbackTimeoutError, RedisReadTimeoutError } from "dialcache-native";
import { installClock, type ManualClock, manualClock } from "dialcache-native/testing";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ScriptedClient } from "../support/clients";
import { type Deferred, deferred } from "../support/deferred";
import { turns, until } from "../support/real-time";
import { recordLogger, recordMetrics } from "../support/recorders";
import { type LoadOptions, loader, REMOTE_ONLY, RIGS, useCaseStats, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const BOTH = DialCacheKeyConfig.enabled(60);
const HEDGED = { readHedge: { delayMs: 20 } };

describe("A hedged read, step by step", () => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = manualClock();
    onTestFinished(installClock(clock));
  });

  /** A cache whose client and source settle when the test says so. The read deadline is 50 ms, the delay 20 ms. */
  function scripted(options: LoadOptions = {}) {
    const client = new ScriptedClient();
    const metrics = recordMetrics();
    const log = recordLogger();
    const cache = new DialCache({
      redis: { client, readTimeoutMs: 50 },
      metrics: metrics.adapter,
      logger: log.logger,
    });
    const runs: Deferred<unknown>[] = [];
    const source = vi.fn(() => {
      const run = deferred<unknown>();
      runs.push(run);
      return run.promise;
    });
    const load = loader(cache, "GetUser", source, { ...HEDGED, ...options });
    const outcomes = () => metrics.of("readHedge").map(({ labels }) => (labels as { outcome: string }).outcome);
    /** Calls, and lets the read's delay pass. */
    const hedged = async () => {
      const result = load("1");
      // Looked at by each test; here it only must not count as unhandled before.
      result.catch(() => {});
      const read = await client.readAt(0);
      await clock.advance(20);
      expect(source).toHaveBeenCalledTimes(1);
      return { result, read, run: runs[0] as Deferred<unknown> };
    };
    const isOver = async () => {
      await until("nothing is left", () => cache.stats().pendingWrites === 0);
      expect(cache.stats().flights).toEqual({ active: 0, followers: 0, lingering: 0 });
      expect(cache.stats().timers.armed).toBe(0);
    };
    return { client, metrics, log, cache, source, runs, load, outcomes, hedged, isOver };
  }

  it("a hit before the delay: the source never starts", async () => {
    const { client, load, source, outcomes, isOver } = scripted();
    const result = load("1");
    const read = await client.readAt(0);
    await clock.advance(19);
    read.resolve('"redis"');
    expect(await result).toBe("redis");
    await clock.advance(100);
    expect(source).not.toHaveBeenCalled();
    expect(outcomes()).toEqual([]);
    await isOver();
  });

  it.each([
    ["a miss", (read: Deferred<never>) => read.resolve(null as never), 1],
    ["an error", (read: Deferred<never>) => read.reject(new Error("redis")), 0],
    ["an unusable value", (read: Deferred<never>) => read.resolve("{" as never), 1],
  ])("%s before the delay: the source starts at once", async (_what, settle, writes) => {
    const { client, load, source, runs, outcomes, isOver } = scripted();
    client.autoWrite = () => true;
    const result = load("1");
    settle((await client.readAt(0)) as unknown as Deferred<never>);
    await until("the source runs", () => source.mock.calls.length === 1);
    await clock.advance(25);
    runs[0]?.resolve("source");
    expect(await result).toBe("source");
    expect(client.writes).toHaveLength(writes);
    expect(outcomes()).toEqual([]);
    await isOver();
  });

  it("one timer is armed, for the delay and again for the deadline; followers have none", async () => {
    const { cache, client, load } = scripted();
    const leader = load("1");
    await client.readAt(0);
    const follower = load("1");
    expect(cache.stats().timers.armed).toBe(1);
    await clock.advance(20);
    expect(cache.stats().timers.armed).toBe(1);
    client.reads[0]?.resolve('"redis"');
    expect(await leader).toBe("redis");
    expect(await follower).toBe("redis");
    expect(client.reads).toHaveLength(1);
    expect(cache.stats().timers.armed).toBe(0);
  });

  it("a slow hit wins over the source, whose value is published nowhere", async () => {
    const { client, cache, hedged, outcomes, isOver, load } = scripted({ defaultConfig: BOTH });
    const { result, read, run } = await hedged();
    await clock.advance(20);
    read.resolve('"redis"');
    expect(await result).toBe("redis");
    run.resolve("source");
    await turns(3);
    expect(outcomes()).toEqual(["hit"]);
    expect(client.writes).toHaveLength(0);
    expect(await load("1")).toBe("redis");
    expect(cache.stats().local.entries).toBe(1);
    await isOver();
  });

  it("a loser that fails later is nobody's error", async () => {
    const { hedged, metrics, log, isOver } = scripted();
    const { result, read, run } = await hedged();
    read.resolve('"redis"');
    expect(await result).toBe("redis");
    run.reject(new Error("too late to matter"));
    await turns(3);
    expect(metrics.count("error", {})).toBe(0);
    expect(log.warnings).toEqual([]);
    await isOver();
  });

  it("a source that outruns the read answers; a hit that comes later is ignored", async () => {
    const { client, hedged, outcomes, metrics, log, isOver, cache } = scripted();
    const { result, read, run } = await hedged();
    run.resolve("source");
    expect(await result).toBe("source");
    expect(outcomes()).toEqual(["outrun"]);
    read.resolve('"redis"');
    await isOver();
    expect(client.writes).toHaveLength(0);
    // Neither a miss nor an error nor a timeout.
    expect(metrics.count("miss", { layer: "remote" })).toBe(0);
    expect(metrics.count("error", {})).toBe(0);
    expect(log.warnings).toEqual([]);
    expect(useCaseStats(cache, "GetUser")).toMatchObject({ readTimeouts: 0, readHedge: { outruns: 1 } });
  });

  it("a clean miss after an outrun triggers the ordinary write: a cold key gets filled", async () => {
    const { client, hedged, isOver, cache } = scripted();
    const { result, read, run } = await hedged();
    run.resolve("source");
    expect(await result).toBe("source");
    expect(client.writes).toHaveLength(0);
    expect(cache.stats().pendingWrites).toBe(1);
    read.resolve(null);
    const write = await client.writeAt(0);
    expect(write.request).toMatchObject({ value: '"source"', cacheTtlMs: 60_000 });
    write.resolve(true);
    await isOver();
    expect(client.writes).toHaveLength(1);
  });

  it("what is written after an outrun is what the caller got, whatever he made of it", async () => {
    const { client, hedged } = scripted();
    const { result, read, run } = await hedged();
    run.resolve({ name: "Ada" });
    ((await result) as { name: string }).name = "changed";
    read.resolve(null);
    const write = await client.writeAt(0);
    expect(write.request).toMatchObject({ value: '{"name":"Ada"}' });
    write.resolve(true);
  });

  it.each([
    ["a failure", (read: Deferred<never>) => read.reject(new Error("redis"))],
    ["the deadline", () => {}],
  ])("%s after an outrun: no write, no event, and the signal is aborted at the deadline", async (_what, settle) => {
    const { client, hedged, metrics, log, isOver } = scripted();
    const { result, read, run } = await hedged();
    run.resolve("source");
    expect(await result).toBe("source");
    const { signal } = read.context as { signal: AbortSignal };
    settle(read as unknown as Deferred<never>);
    await clock.advance(30);
    await isOver();
    expect(client.writes).toHaveLength(0);
    expect(metrics.count("error", {})).toBe(0);
    expect(log.warnings).toEqual([]);
    if (_what === "the deadline") expect(signal.reason).toBeInstanceOf(RedisReadTimeoutError);
  });

  it("a miss beside the running source: it goes on, and its value is written", async () => {
    const { client, hedged, source, metrics, outcomes, isOver } = scripted();
    client.autoWrite = () => true;
    const { result, read, run } = await hedged();
    read.resolve(null);
    await turns(3);
    run.resolve("source");
    expect(await result).toBe("source");
    expect(source).toHaveBeenCalledTimes(1);
    expect(client.writes).toHaveLength(1);
    expect(metrics.count("miss", { layer: "remote" })).toBe(1);
    expect(outcomes()).toEqual([]);
    await isOver();
  });

  it("the deadline beside the running source: one timeout is told, it goes on, nothing is written", async () => {
    const { client, hedged, source, metrics, log, isOver } = scripted();
    const { result, read, run } = await hedged();
    await clock.advance(30);
    await until("the timeout is told", () => log.warnings.length === 1);
    run.resolve("source");
    expect(await result).toBe("source");
    read.resolve('"redis"');
    await isOver();
    expect(source).toHaveBeenCalledTimes(1);
    expect(client.writes).toHaveLength(0);
    expect(metrics.count("error", { error: "cache_read" })).toBe(1);
    expect(log.warnings).toHaveLength(1);
  });

  it("the source fails while the read is pending: the read is waited for, and its hit served", async () => {
    const { hedged, outcomes, isOver } = scripted();
    const { result, read, run } = await hedged();
    run.reject(new Error("source down"));
    await turns(3);
    await clock.advance(20);
    read.resolve('"redis"');
    expect(await result).toBe("redis");
    expect(outcomes()).toEqual(["source_error", "hit"]);
    await isOver();
  });

  it.each([
    ["misses", (read: Deferred<never>) => read.resolve(null as never)],
    ["fails", (read: Deferred<never>) => read.reject(new Error("redis"))],
    ["brings what does not load", (read: Deferred<never>) => read.resolve("{" as never)],
    ["is late", () => {}],
  ])(
    "the source fails, then the read %s: the source's error, by identity, and it is not run twice",
    async (_what, settle) => {
      const { hedged, source, client, isOver } = scripted();
      const { result, read, run } = await hedged();
      const failure = new Error("source down");
      run.reject(failure);
      await turns(3);
      settle(read as unknown as Deferred<never>);
      await clock.advance(30);
      await expect(result).rejects.toBe(failure);
      expect(source).toHaveBeenCalledTimes(1);
      expect(client.writes).toHaveLength(0);
      await isOver();
    },
  );

  it("the source's deadline is a failure like any other: a pending read is still waited for", async () => {
    const { hedged, outcomes, isOver } = scripted({ fallbackTimeoutMs: 10 });
    const { result, read, run } = await hedged();
    await clock.advance(10);
    read.resolve('"redis"');
    expect(await result).toBe("redis");
    run.resolve("late");
    await turns(3);
    expect(outcomes()).toEqual(["source_error", "hit"]);
    await isOver();
  });

  it("both deadlines pass: the source's timeout is the call's error", async () => {
    const { hedged, isOver, metrics } = scripted({ fallbackTimeoutMs: 10 });
    const { result } = await hedged();
    await clock.advance(30);
    await expect(result).rejects.toBeInstanceOf(FallbackTimeoutError);
    expect(metrics.count("error", { error: "cache_read" })).toBe(1);
    expect(metrics.count("error", { error: "fallback" })).toBe(1);
    await isOver();
  });

  it("tracked: an outrun keeps the value out of the local layer, before and after its stamp", async () => {
    for (const settleFirst of [false, true]) {
      const { client, cache, hedged } = scripted({ defaultConfig: BOTH, trackForInvalidation: true });
      client.autoWrite = () => true;
      const { result, read, run } = await hedged();
      if (settleFirst) read.resolve(null);
      await turns(3);
      run.resolve("source");
      expect(await result).toBe("source");
      read.resolve(null);
      await until("it is written", () => client.writes.length === 1 && cache.stats().pendingWrites === 0);
      expect(cache.stats().local.entries).toBe(0);
    }
  });

  it("untracked: an outrun's value is local at once", async () => {
    const { cache, hedged, load, client } = scripted({ defaultConfig: BOTH });
    const { result, run } = await hedged();
    run.resolve("source");
    expect(await result).toBe("source");
    expect(cache.stats().local.entries).toBe(1);
    expect(await load("1")).toBe("source");
    expect(client.reads).toHaveLength(1);
  });

  it("a source that is faster than an asynchronous serializer wins", async () => {
    const gate = deferred<unknown>();
    const serializer = { dump: JSON.stringify as (value: unknown) => string, load: () => gate.promise };
    const { hedged, outcomes, client, isOver } = scripted({ serializer });
    const { result, read, run } = await hedged();
    read.resolve('"redis"');
    await turns(3);
    run.resolve("source");
    expect(await result).toBe("source");
    gate.resolve("loaded");
    await turns(3);
    expect(outcomes()).toEqual(["outrun"]);
    expect(client.writes).toHaveLength(0);
    await isOver();
  });

  it("a source that is slower than a serializer that fails outruns nothing, also when the cache was closed meanwhile", async () => {
    const gate = deferred<unknown>();
    const serializer = { dump: JSON.stringify as (value: unknown) => string, load: () => gate.promise };
    const { hedged, outcomes, cache, client } = scripted({ serializer });
    const { result, read, run } = await hedged();
    read.resolve('"redis"');
    await turns(3);
    gate.reject(new Error("load"));
    await turns(3);
    await cache.close();
    run.resolve("source");
    expect(await result).toBe("source");
    expect(outcomes()).toEqual([]);
    expect(useCaseStats(cache, "GetUser").readHedge.outruns).toBe(0);
    expect(client.writes).toHaveLength(0);
  });

  it("the cache is closed while both are pending: the source answers, nothing is written", async () => {
    const { hedged, cache, client } = scripted();
    const { result, run, read } = await hedged();
    await cache.close();
    run.resolve("source");
    expect(await result).toBe("source");
    read.resolve(null);
    await turns(3);
    expect(client.writes).toHaveLength(0);
    expect(cache.stats().timers.armed).toBe(0);
  });

  it("the cache is closed after an outrun: the read ends with it", async () => {
    const { hedged, cache, client, isOver } = scripted();
    const { result, run, read } = await hedged();
    run.resolve("source");
    await result;
    await cache.close();
    read.resolve(null);
    await isOver();
    expect(client.writes).toHaveLength(0);
  });

  it("the budget: ten at once, then a tenth of the reads; a denied one goes on waiting", async () => {
    const { client, load, source, runs, outcomes, cache } = scripted();
    const results = Array.from({ length: 30 }, (_, id) => load(String(id)));
    await until("all read", () => client.reads.length === 30);
    await clock.advance(20);
    expect(source).toHaveBeenCalledTimes(10);
    expect(outcomes()).toEqual(Array(20).fill("denied"));
    for (const run of runs) run.resolve("source");
    await clock.advance(10);
    for (const read of client.reads) read.resolve('"redis"');
    const values = await Promise.all(results);
    expect(values.filter((value) => value === "redis")).toHaveLength(20);
    expect(useCaseStats(cache, "GetUser").readHedge).toEqual({ hits: 0, outruns: 10, sourceErrors: 0, denied: 20 });
  });

  it("auto: no hedge until 100 reads are known, then at their 95th percentile", async () => {
    const { client, load, source } = scripted({ readHedge: { delayMs: "auto" } });
    for (let n = 1; n <= 100; n += 1) {
      const result = load(String(n));
      const read = await client.readAt(n - 1);
      // 10 ms for most, 30 ms for the slowest tenth.
      await clock.advance(n <= 90 ? 10 : 30);
      read.resolve('"redis"');
      await result;
    }
    expect(source).not.toHaveBeenCalled();
    const late = load("late");
    const read = await client.readAt(100);
    await clock.advance(29);
    expect(source).not.toHaveBeenCalled();
    await clock.advance(2);
    expect(source).toHaveBeenCalledTimes(1);
    read.resolve('"redis"');
    expect(await late).toBe("redis");
  });

  it("is off unless it is asked for", async () => {
    const { client, load, source } = scripted({ readHedge: undefined });
    const result = load("1");
    const read = await client.readAt(0);
    await clock.advance(49);
    expect(source).not.toHaveBeenCalled();
    read.resolve('"redis"');
    expect(await result).toBe("redis");
  });
});

describe.each(RIGS)("A hedged read against a real server: $client, $time", (kind) => {
  const rig = useRig(kind);

  it("a frozen server costs the delay, not the deadline, and a cold key is filled when the server is back", async () => {
    const world = await rig.world({ readTimeoutMs: 20_000 });
    const source = vi.fn(async (id: string) => `source ${id}`);
    const load = world.load("GetUser", source, { defaultConfig: REMOTE_ONLY, ...HEDGED });
    await world.server.freeze();
    const result = load("1");
    await world.readStarted("GetUser");
    await world.lapse(20);
    expect(await result).toBe("source 1");
    expect(world.stats("GetUser")).toMatchObject({ readTimeouts: 0, readHedge: { outruns: 1 } });
    world.server.thaw();
    await world.written();
    expect(await world.stored("GetUser", "1")).toMatchObject({ payload: '"source 1"' });
    expect(await load("1")).toBe("source 1");
    expect(source).toHaveBeenCalledTimes(1);
    expect(world.cache.stats().timers.armed).toBe(0);
  });

  it("user code runs in the async context of the leader's call", async () => {
    const context = new AsyncLocalStorage<string>();
    const where: [what: string, context: string | undefined][] = [];
    const note = (what: string) => where.push([what, context.getStore()]);
    const told = { ...recordMetrics().adapter, readHedge: () => note("metrics") };
    const world = await rig.world({ readTimeoutMs: 20_000, config: { metrics: told } });
    const load = world.load("GetUser", () => note("source"), {
      ...HEDGED,
      serializer: { dump: (value) => JSON.stringify(note("dump") && value), load: String },
    });
    await world.server.freeze();
    const result = context.run("leader", () => load("1"));
    await world.readStarted("GetUser");
    const follower = context.run("follower", () => load("1"));
    await context.run("clock", () => world.lapse(20));
    await Promise.all([result, follower]);
    expect(where).toEqual([
      ["source", "leader"],
      ["metrics", "leader"],
      ["dump", "leader"],
    ]);
    world.server.thaw();
    await world.written();
  });

  it("a slow hit wins over a slower source", async () => {
    const world = await rig.world({ readTimeoutMs: 20_000 });
    const gate = deferred<string>();
    const load = world.load("GetUser", () => gate.promise, { ...HEDGED });
    await world.plant("GetUser", "1", '"redis"');
    await world.server.freeze();
    const result = load("1");
    await world.readStarted("GetUser");
    await world.lapse(20);
    await until("the source runs", () => world.stats("GetUser").sourceCalls === 1);
    world.server.thaw();
    expect(await result).toBe("redis");
    gate.resolve("source");
    await turns(3);
    expect(world.stats("GetUser").readHedge).toMatchObject({ hits: 1 });
    expect(await world.calls("set")).toBe(0);
  });

  it("a healthy server answers before the delay, and no source runs", async () => {
    const world = await rig.world({ readTimeoutMs: 20_000 });
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source, { readHedge: { delayMs: 10_000 } });
    await world.plant("GetUser", "1", '"redis"');
    expect(await load("1")).toBe("redis");
    expect(source).not.toHaveBeenCalled();
  });
});

describe("readHedge options", () => {
  const cache = () => new DialCache({ redis: { client: new ScriptedClient(), readTimeoutMs: 50 }, logger: null });
  const options = { keyType: "id", useCase: "A", cacheKey: () => "1" };
  const load = async () => "value";

  it.each([
    [{ delayMs: 50 }, RangeError, /readHedge\.delayMs .*below the read deadline of 50/],
    [{ delayMs: 0 }, RangeError, /readHedge\.delayMs/],
    [{ delayMs: -1 }, RangeError, /readHedge\.delayMs/],
    [{ delayMs: Number.NaN }, RangeError, /readHedge\.delayMs/],
    [{ delayMs: Number.POSITIVE_INFINITY }, RangeError, /readHedge\.delayMs/],
    [{ delayMs: "fast" }, TypeError, /readHedge\.delayMs/],
    [{}, TypeError, /readHedge\.delayMs/],
    [{ delay: 5 }, TypeError, /readHedge\.delay.*delayMs/],
    [null, TypeError, /readHedge/],
    [5, TypeError, /readHedge/],
  ])("%j is refused before the name is taken", (readHedge, error, message) => {
    const dialcache = cache();
    const register = (hedge: unknown) =>
      dialcache.cached(load, { ...options, readHedge: hedge as { delayMs: "auto" } });
    expect(() => register(readHedge)).toThrow(error);
    expect(() => register(readHedge)).toThrow(message);
    register({ delayMs: 49.5 });
  });

  it("must be below the use case's own deadline where it has one", () => {
    const dialcache = cache();
    const register = (redisReadTimeoutMs: number) =>
      dialcache.cached(load, { ...options, redisReadTimeoutMs, readHedge: { delayMs: 60 } });
    expect(() => register(60)).toThrow(/below the read deadline of 60/);
    register(61);
  });
});
