import { DialCache, DialCacheKeyConfig, RedisClient } from "dialcache-native";
import { describe, expect, it, onTestFinished } from "vitest";
import { startFaultProxy } from "../support/fault-proxy";
import { encodeFrame } from "../support/frame";
import { turn, until } from "../support/real-time";
import { startRedis } from "../support/redis-server";
import { loader, REMOTE_ONLY } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const KEYS = 40;
const CALLS = 6_000;

/**
 * Flights, slots and requests are numbered, and numbers are used again: a late reply must never reach the flight
 * that has its number now.
 */
describe("Late replies never reach another call", () => {
  it("through held, released and lost replies, over several caches on one native client", async () => {
    const server = await startRedis();
    const proxy = await startFaultProxy(server.port);
    const client = new RedisClient({ url: proxy.url, responseTimeoutMs: 10_000, reconnect: { baseDelayMs: 1 } });
    const caches = ["a", "b", "c"].map(
      (name) => new DialCache({ namespace: name, redis: { client, readTimeoutMs: 3 }, localMaxSize: 7, logger: null }),
    );
    onTestFinished(async () => {
      for (const cache of caches) {
        await cache.close();
      }
      client.close();
      await proxy.close();
      await server.stop();
    });
    await client.ready({ timeoutMs: 5_000 });

    const loads = caches.flatMap((cache, index) => {
      const name = "abc"[index];
      return [REMOTE_ONLY, DialCacheKeyConfig.enabled(60)].map((defaultConfig, layer) => {
        const useCase = `Use${layer}`;
        const source = async (id: string) => {
          if (Number(id) % 3 === 0) {
            await turn();
          }
          return `source ${name} ${useCase} ${id}`;
        };
        return { name, useCase, load: loader(cache, useCase, source, { defaultConfig }) };
      });
    });
    for (const { name, useCase } of loads) {
      for (let id = 0; id < KEYS; id += 2) {
        const frame = encodeFrame(JSON.stringify(`redis ${name} ${useCase} ${id}`), Date.now());
        await server.command("SETEX", `${name}:user_id:${id}#${useCase}:dialcache-frame-v1`, 600, frame);
      }
    }

    const wrong: string[] = [];
    let answered = 0;
    let started = 0;
    const call = async () => {
      started += 1;
      const { name, useCase, load } = loads[started % loads.length] as (typeof loads)[number];
      const id = String((started * 7) % KEYS);
      const value = await load(id);
      answered += 1;
      if (value !== `redis ${name} ${useCase} ${id}` && value !== `source ${name} ${useCase} ${id}`) {
        wrong.push(`${name} ${useCase} ${id}: ${String(value)}`);
      }
    };
    const faults = [
      () => proxy.holdReplies(),
      () => proxy.releaseReplies(),
      () => proxy.holdReplies(),
      () => proxy.heal(),
      () => proxy.reset(),
      () => proxy.heal(),
    ];
    const pending = new Set<Promise<void>>();
    for (let round = 0; started < CALLS; round += 1) {
      for (let each = 0; each < 60; each += 1) {
        const running = call();
        pending.add(running);
        running.finally(() => pending.delete(running));
      }
      faults[round % faults.length]?.();
      // Enough for some deadlines to pass and some replies to arrive.
      const goal = answered + 40;
      await until("more calls are answered", () => answered >= Math.min(goal, started));
    }
    proxy.heal();
    await Promise.all(pending);
    expect(wrong).toEqual([]);
    expect(answered).toBe(started);
    await until("nothing is pending", () => client.stats().pending === 0);
    for (const cache of caches) {
      expect(cache.stats()).toMatchObject({ flights: { active: 0, followers: 0 }, timers: { armed: 0 } });
    }
    const timeouts = caches.map((cache) => cache.stats().useCases).flatMap((useCases) => Object.values(useCases));
    expect(timeouts.some(({ readTimeouts }) => readTimeouts > 0)).toBe(true);
    expect(timeouts.some(({ hits }) => hits.remote > 0)).toBe(true);
  });

  it("a client its owner closes lets every cache fail open at once", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const client = new RedisClient({ url: server.url, responseTimeoutMs: 60_000 });
    await client.ready({ timeoutMs: 5_000 });
    const caches = ["a", "b"].map(
      (namespace) => new DialCache({ namespace, redis: { client, readTimeoutMs: 600_000 }, logger: null }),
    );
    const loads = caches.map((cache) => loader(cache, "GetUser", async (id) => id));
    await server.freeze();
    const results = loads.map((load) => Promise.all([load("1"), load("1"), load("2")]));
    client.close();
    expect(await Promise.all(results)).toEqual([
      ["1", "1", "2"],
      ["1", "1", "2"],
    ]);
    expect(await loads[0]?.("3")).toBe("3");
    for (const cache of caches) {
      expect(cache.stats().timers.armed).toBe(0);
      await cache.close();
    }
  });

  it("a cache that closes leaves the reads of another on the same client alone", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const client = new RedisClient({ url: server.url, responseTimeoutMs: 60_000 });
    onTestFinished(() => client.close());
    await client.ready({ timeoutMs: 5_000 });
    const make = (namespace: string) =>
      new DialCache({ namespace, redis: { client, readTimeoutMs: 600_000 }, logger: null });
    const closing = make("closing");
    const staying = make("staying");
    const frame = encodeFrame('"redis"', Date.now());
    await server.command("SETEX", "staying:user_id:1#GetUser:dialcache-frame-v1", 600, frame);
    await server.freeze();
    const first = loader(closing, "GetUser", async () => "source")("1");
    const second = loader(staying, "GetUser", async () => "source")("1");
    await closing.close();
    expect(await first).toBe("source");
    server.thaw();
    expect(await second).toBe("redis");
    await staying.close();
  });
});
