import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { createDatadogDialCacheMetrics } from "dialcache-native/datadog";
import { installClock, manualClock } from "dialcache-native/testing";
import { StatsD } from "hot-shots";
import { describe, expect, it, onTestFinished } from "vitest";
import { ScriptedClient } from "../support/clients";
import { LOCAL_ONLY } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";
import { loadOf } from "./support";

failOnUnhandled();

type Sent = [method: string, name: string, value: number, tags: Record<string, string> | undefined];

/** A DogStatsD client that keeps what it is told; while `broken` it throws. */
function recordingClient() {
  const sent: Sent[] = [];
  const client = {
    broken: false,
    sent,
    increment: (name: string, value: number, tags?: Record<string, string>) => keep("increment", name, value, tags),
    histogram: (name: string, value: number, tags?: Record<string, string>) => keep("histogram", name, value, tags),
    distribution: (name: string, value: number, tags?: Record<string, string>) =>
      keep("distribution", name, value, tags),
  };
  function keep(...call: Sent): void {
    if (client.broken) throw new Error("no socket");
    sent.push(call);
  }
  return client;
}

const NAMES = { cache_namespace: "urn", use_case: "GetUser", key_type: "user_id" };
const LOCAL = { ...NAMES, layer: "local" };

function drivenClock() {
  const clock = manualClock();
  onTestFinished(installClock(clock));
  return clock;
}

describe("Counters go to Datadog as deltas every 10 seconds", () => {
  it("what came together, and nothing when nothing did", async () => {
    const clock = drivenClock();
    const client = recordingClient();
    const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: "distribution" });
    const cache = new DialCache({ metrics, logger: null });
    const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY });
    const requests = () =>
      client.sent.splice(0).filter(([method, name]) => method === "increment" && name === "dialcache.request.count");

    await cache.enable(async () => [await get("1"), await get("1"), await get("1")]);
    await clock.advance(9_999);
    expect(requests()).toEqual([]);
    await clock.advance(1);
    expect(requests()).toEqual([["increment", "dialcache.request.count", 3, LOCAL]]);
    await clock.advance(10_000);
    expect(client.sent).toEqual([]);
    await cache.enable(() => get("1"));
    await clock.advance(10_000);
    expect(requests()).toEqual([["increment", "dialcache.request.count", 1, LOCAL]]);
  });

  it("of all instances together", async () => {
    const clock = drivenClock();
    const client = recordingClient();
    const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: "distribution" });
    for (const id of ["1", "2"]) {
      const cache = new DialCache({ metrics, logger: null });
      const get = loadOf(cache, "GetUser", async () => id, { defaultConfig: LOCAL_ONLY });
      await cache.enable(() => get(id));
    }
    await clock.advance(10_000);
    expect(client.sent).toContainEqual(["increment", "dialcache.miss.count", 2, LOCAL]);
  });

  it("flush() sends them now, and they are not sent again", async () => {
    const clock = drivenClock();
    const client = recordingClient();
    const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: "distribution" });
    const cache = new DialCache({ metrics, logger: null });
    await loadOf(cache, "GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY })("1");
    metrics.flush();
    const disabled = ["increment", "dialcache.disabled.count", 1, { ...NAMES, layer: "noop", reason: "context" }];
    expect(client.sent).toEqual([disabled]);
    await clock.advance(20_000);
    expect(client.sent).toEqual([disabled]);
  });

  it("a client that throws is asked again later, with everything, and reaches no caller", async () => {
    const clock = drivenClock();
    const client = recordingClient();
    const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: "histogram" });
    const cache = new DialCache({ metrics, logger: null });
    const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY });
    client.broken = true;
    expect(await cache.enable(() => get("1"))).toBe("1");
    await clock.advance(10_000);
    metrics.flush();
    client.broken = false;
    await cache.enable(() => get("1"));
    await clock.advance(10_000);
    expect(client.sent).toContainEqual(["increment", "dialcache.request.count", 2, LOCAL]);
  });

  it("with real time and nothing else to do, the process may end", async () => {
    const client = recordingClient();
    const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: "distribution" });
    const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    new DialCache({ metrics, logger: null });
    // Unreferenced timers are not listed.
    expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout")).toHaveLength(before);
  });
});

describe("Durations and sizes go to Datadog as they happen", () => {
  it.each(["distribution", "histogram"] as const)("as a %s, in seconds and bytes", async (type) => {
    const client = recordingClient();
    const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: type, namespace: "app.cache" });
    const redis = new ScriptedClient();
    redis.autoRead = () => null;
    redis.autoWrite = () => true;
    const cache = new DialCache({ metrics, logger: null, redis: { client: redis, readTimeoutMs: 1_000 } });
    const get = loadOf(cache, "GetUser", async (id) => id, {
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
    });
    await cache.enable(() => get("1"));
    await cache.drain();
    const remote = { ...NAMES, layer: "remote" };
    expect(client.sent).toEqual([
      [type, "app.cache.get.duration", expect.any(Number), remote],
      [type, "app.cache.fallback.duration", expect.any(Number), remote],
      [type, "app.cache.serialization.duration", expect.any(Number), { ...remote, operation: "dump" }],
      [type, "app.cache.serialization.size", 3, remote],
      [type, "app.cache.stored.size", 3, remote],
    ]);
    metrics.observeStoredSize?.({ cacheNamespace: "n", useCase: "u", keyType: "k", layer: "remote" }, 5);
    metrics.request({ cacheNamespace: "n", useCase: "u", keyType: "k", layer: "remote" });
    const tags = { cache_namespace: "n", use_case: "u", key_type: "k", layer: "remote" };
    expect(client.sent.slice(5)).toEqual([
      [type, "app.cache.stored.size", 5, tags],
      ["increment", "app.cache.request.count", 1, tags],
    ]);
  });

  it("hot-shots puts them on the wire", async () => {
    const agent = createSocket("udp4");
    onTestFinished(() => void agent.close());
    agent.bind(0, "127.0.0.1");
    await once(agent, "listening");
    const client = new StatsD({ host: "127.0.0.1", port: agent.address().port, maxBufferSize: 0 });
    onTestFinished(() => client.close());
    const metrics = createDatadogDialCacheMetrics({ client, observationMetricType: "distribution" });
    const cache = new DialCache({ metrics, logger: null });
    const get = loadOf(cache, "GetUser", async (id) => id, { defaultConfig: LOCAL_ONLY });
    const received = collect(agent, 3);
    await cache.enable(async () => [await get("1"), await get("1")]);
    metrics.flush();
    const tags = "#cache_namespace:urn,use_case:GetUser,key_type:user_id,layer:local";
    expect((await received).sort()).toEqual([
      expect.stringMatching(/^dialcache\.fallback\.duration:[\d.e-]+\|d\|#/),
      `dialcache.miss.count:1|c|${tags}`,
      `dialcache.request.count:2|c|${tags}`,
    ]);
  });
});

function collect(socket: Socket, count: number): Promise<string[]> {
  const lines: string[] = [];
  return new Promise((resolve) => {
    socket.on("message", (message) => {
      lines.push(...String(message).trim().split("\n"));
      if (lines.length >= count) resolve(lines);
    });
  });
}
