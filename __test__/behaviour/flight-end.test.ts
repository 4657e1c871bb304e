import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { installClock, type ManualClock, manualClock } from "dialcache-native/testing";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ScriptedClient } from "../support/clients";
import { deferred } from "../support/deferred";
import { turns, until } from "../support/real-time";
import { recordLogger, recordMetrics } from "../support/recorders";
import { type LoadOptions, loader, REMOTE_ONLY, RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

describe("Writing back, by the clock", () => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = manualClock();
    onTestFinished(installClock(clock));
  });

  /** Whether callers still join the answered flight: as long as its own deadline is pending. */
  const joinable = (cache: DialCache) => cache.stats().timers.armed > 0;

  function scripted(options: LoadOptions = {}) {
    const client = new ScriptedClient();
    client.autoRead = () => null;
    const metrics = recordMetrics();
    const log = recordLogger();
    const cache = new DialCache({
      redis: { client, readTimeoutMs: 50 },
      metrics: metrics.adapter,
      logger: log.logger,
    });
    const source = vi.fn(async (id: string) => ({ id }));
    return { client, cache, metrics, log, source, load: loader(cache, "GetUser", source, options) };
  }

  it("the caller is answered while the write goes on in the background", async () => {
    const { client, cache, load } = scripted();
    expect(await load("1")).toEqual({ id: "1" });
    await client.writeAt(0);
    expect(cache.stats().pendingWrites).toBe(1);
    client.writes[0]?.resolve(true);
    await until("the write ends", () => cache.stats().pendingWrites === 0);
  });

  it("the caller is answered while an asynchronous dump goes on", async () => {
    const gate = deferred<string>();
    const { client, load, cache } = scripted({ serializer: { dump: () => gate.promise, load: JSON.parse } });
    expect(await load("1")).toEqual({ id: "1" });
    expect(client.writes).toHaveLength(0);
    gate.resolve("dumped");
    const write = await client.writeAt(0);
    expect(write.request).toMatchObject({ value: "dumped", cacheTtlMs: 60_000 });
    write.resolve(true);
    expect(await cache.drain({ timeoutMs: 1_000 })).toBe(true);
  });

  it("dump is started before the caller is answered, so that a caller's changes are not stored", async () => {
    const { client, load } = scripted();
    const value = (await load("1")) as { id: string };
    value.id = "changed by the caller";
    const write = await client.writeAt(0);
    expect(String(write.request.value)).toBe('{"id":"1"}');
    write.resolve(true);
  });

  it("with the value in the local layer the flight ends at acceptance", async () => {
    const { client, cache, load, source } = scripted({ defaultConfig: DialCacheKeyConfig.enabled(60) });
    const first = await load("1");
    await client.writeAt(0);
    expect(cache.stats().flights.active).toBe(0);
    expect(joinable(cache)).toBe(false);
    expect(await load("1")).toBe(first);
    expect(source).toHaveBeenCalledTimes(1);
    expect(client.reads).toHaveLength(1);
  });

  it("without it, callers until the write settles get the same value, at once, and it is written once", async () => {
    const { client, cache, load, source } = scripted();
    const first = await load("1");
    const write = await client.writeAt(0);
    expect(cache.stats().flights).toMatchObject({ active: 0, lingering: 1 });
    expect(joinable(cache)).toBe(true);
    expect(await load("1")).toBe(first);
    expect(await load("1")).toBe(first);
    expect(source).toHaveBeenCalledTimes(1);
    expect(client.reads).toHaveLength(1);
    write.resolve(true);
    await until("the flight ends", () => !joinable(cache));
    await load("1");
    expect(client.reads).toHaveLength(2);
    expect(source).toHaveBeenCalledTimes(2);
  });

  it("a rejected write ends the flight as well", async () => {
    const { client, cache, load, metrics, log } = scripted();
    await load("1");
    (await client.writeAt(0)).reject(new Error("refused"));
    await until("the flight ends", () => !joinable(cache));
    await load("1");
    expect(client.reads).toHaveLength(2);
    expect(metrics.count("error", { error: "cache_write" })).toBe(1);
    expect(log.warnings).toHaveLength(1);
  });

  it("a dump that fails ends the flight as well", async () => {
    const gate = deferred<string>();
    const { client, cache, load } = scripted({ serializer: { dump: () => gate.promise, load: JSON.parse } });
    await load("1");
    expect(joinable(cache)).toBe(true);
    gate.reject(new Error("cannot dump"));
    await until("the flight ends", () => !joinable(cache));
    await load("1");
    expect(client.reads).toHaveLength(2);
    expect(client.writes).toHaveLength(0);
  });

  it("a Redis write that never settles: the flight ends readTimeoutMs after acceptance", async () => {
    const { client, cache, load, source } = scripted();
    await load("1");
    await client.writeAt(0);
    await clock.advance(49);
    await load("1");
    expect(source).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expect(joinable(cache)).toBe(false);
    await load("1");
    expect(source).toHaveBeenCalledTimes(2);
    expect(client.reads).toHaveLength(2);
  });

  it("a use case's own read deadline counts", async () => {
    const { client, cache, load } = scripted({ redisReadTimeoutMs: 20 });
    await load("1");
    await client.writeAt(0);
    await clock.advance(19);
    expect(joinable(cache)).toBe(true);
    await clock.advance(1);
    expect(joinable(cache)).toBe(false);
  });

  it("joining does not prolong it", async () => {
    const { client, cache, load } = scripted();
    await load("1");
    await client.writeAt(0);
    for (let step = 0; step < 4; step += 1) {
      await clock.advance(10);
      await load("1");
    }
    expect(joinable(cache)).toBe(true);
    await clock.advance(10);
    expect(joinable(cache)).toBe(false);
  });

  it("a write that settles after the flight's end says nothing twice and hurts no later flight", async () => {
    const { client, cache, load, log, metrics } = scripted();
    await load("1");
    const first = await client.writeAt(0);
    await clock.advance(50);
    await load("1");
    await client.writeAt(1);
    first.resolve(true);
    await turns(5);
    expect(joinable(cache)).toBe(true);
    client.writes[1]?.reject(new Error("refused"));
    await until("the flight ends", () => !joinable(cache));
    expect(log.warnings).toHaveLength(1);
    expect(metrics.count("error", { error: "cache_write" })).toBe(1);
    expect(cache.stats().pendingWrites).toBe(0);
  });

  it("an answered flight is none of getCoalescingState's, and its joiners are followers of nobody", async () => {
    const { client, cache, load } = scripted();
    await load("1");
    await client.writeAt(0);
    expect(cache.getCoalescingState().process).toEqual({
      activeLeaders: 0,
      activeFollowers: 0,
      oldestLeaderAgeMs: null,
    });
    await load("1");
    expect(cache.getCoalescingState().process.activeFollowers).toBe(0);
  });

  it("coalesce: false leaves no flight to join", async () => {
    const { client, load, source } = scripted({
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 }, coalesce: false }),
    });
    await load("1");
    await client.writeAt(0);
    await load("1");
    expect(source).toHaveBeenCalledTimes(2);
    expect(client.reads).toHaveLength(2);
  });

  it("one write per accepted miss", async () => {
    const { client, load } = scripted();
    client.autoWrite = () => true;
    await Promise.all(Array.from({ length: 10 }, () => load("1")));
    await turns(5);
    expect(client.writes).toHaveLength(1);
  });

  it("the TTL a write carries is the remote layer's, in milliseconds", async () => {
    const { client, load } = scripted({
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 7, remote: 31_536_000 } }),
    });
    await load("1");
    expect((await client.writeAt(0)).request.cacheTtlMs).toBe(31_536_000_000);
  });
});

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  it("a Redis write that never settles: its flight ends by itself, and callers stay answered", async () => {
    const world = await rig.world({ proxy: true, readTimeoutMs: 100 });
    const source = vi.fn(async (id: string) => {
      // The read has been answered; from here on the server is not heard any more.
      world.proxy.holdReplies();
      return id;
    });
    const load = world.load("GetUser", source, { defaultConfig: REMOTE_ONLY });
    expect(await load("1")).toBe("1");
    await until("the write's reply is held", () => world.proxy.heldBytes > 0);
    expect(world.cache.stats().pendingWrites).toBe(1);
    await world.lapse();
    await until("the flight ends", () => world.cache.stats().timers.armed === 0);

    const second = load("1");
    await world.readStarted("GetUser", 2);
    await world.lapse();
    expect(await second).toBe("1");
    expect(source).toHaveBeenCalledTimes(2);
    world.proxy.releaseReplies();
    await world.written();
    expect(world.log.warnings).toHaveLength(1);
  });

  it("a write on a connection that is lost is counted once and reaches no caller", async () => {
    const world = await rig.world({ proxy: true, readTimeoutMs: 10_000 });
    const load = world.load("GetUser", async (id) => {
      world.proxy.holdReplies();
      return id;
    });
    expect(await load("1")).toBe("1");
    await until("the write's reply is held", () => world.proxy.heldBytes > 0);
    world.proxy.reset();
    world.proxy.heal();
    await world.written();
    expect(world.metrics.count("error", { error: "cache_write", layer: "remote", inFallback: false })).toBe(1);
    expect(world.log.warnings).toHaveLength(1);
    expect(world.stats("GetUser").writes).toMatchObject({ ok: 0, failed: 1 });
    expect(world.cache.stats().flights.lingering).toBe(0);
  });
});
