import { DialCache, DialCacheKey, DialCacheKeyConfig, JsonSerializer, RedisClient, source } from "dialcache-native";
import { createDatadogDialCacheMetrics } from "dialcache-native/datadog";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import { installClock, manualClock } from "dialcache-native/testing";
import { Registry } from "prom-client";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { value } from "../metrics/support";
import { CLIENTS, type ConnectedAdapter, payloadOf } from "../support/adapters";
import { ScriptedClient } from "../support/clients";
import { recordLogger, recordMetrics } from "../support/recorders";
import { type RedisServer, startRedis } from "../support/redis-server";
import { JSON_SERIALIZER } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "__defineGetter__"];

const untouched = () => ({
  keys: Reflect.ownKeys(Object.prototype).map(String),
  ofArrays: Reflect.ownKeys(Array.prototype).length,
  ofFunctions: Reflect.ownKeys(Function.prototype).length,
  toString: Object.prototype.toString,
});
const before = untouched();

afterEach(() => {
  expect(untouched()).toEqual(before);
});

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** What is at an object's own property of that name, which `object[name]` may not say. */
function own(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value;
}

/** A cache and a function whose every name is `name`. */
function named(name: string, client: DialCacheConfigClient, more: object = {}) {
  const log = recordLogger();
  const metrics = recordMetrics();
  const cache = new DialCache({
    namespace: name,
    redis: { client, readTimeoutMs: 10_000 },
    logger: log.logger,
    metrics: metrics.adapter,
    ...more,
  });
  let runs = 0;
  const load = cache.cached(
    async (id: string): Promise<unknown> => {
      runs += 1;
      return JSON.parse(`{"__proto__":${JSON.stringify(id)},"constructor":[1]}`);
    },
    {
      keyType: name,
      useCase: name,
      cacheKey: (id) => ({ id, args: JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(name)}}`) }),
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true }),
      serializer: JSON_SERIALIZER,
      trackForInvalidation: true,
    },
  );
  return { cache, load: (id: string) => cache.enable(() => load(id)), log, metrics, runs: () => runs };
}

type DialCacheConfigClient = ConnectedAdapter["client"];

describe.each(NAMES)("A namespace, use case, key type, id, argument, source and label that is called %s", (name) => {
  it("goes through every layer, and is counted under its name", async () => {
    const client = new RedisClient({ url: server.url, clientName: name });
    await client.ready({ timeoutMs: 5_000 });
    const first = named(name, client);
    const second = named(name, client);
    onTestFinished(async () => {
      await first.cache.close();
      await second.cache.close();
      client.close();
    });
    const expected = `{"__proto__":${JSON.stringify(name)},"constructor":[1]}`;
    expect(JSON.stringify(await first.load(name))).toBe(expected);
    await first.cache.drain({ timeoutMs: 5_000 });
    // Out of the process, and in another one out of Redis.
    expect(JSON.stringify(await first.load(name))).toBe(expected);
    expect(JSON.stringify(await second.load(name))).toBe(expected);
    expect([first.runs(), second.runs()]).toEqual([1, 0]);
    await first.cache.invalidateRemote(name, name, 1_000);
    expect(JSON.stringify(await first.load(name))).toBe(expected);
    expect(first.runs()).toBe(2);

    const stats = first.cache.stats();
    expect(Object.keys(stats.useCases)).toEqual([name]);
    expect(own(stats.useCases, name)).toMatchObject({ keyType: name, sourceCalls: 2, hits: { local: 1 } });
    expect(own(stats.invalidations, name)).toEqual({ calls: 1, failed: 0 });
    expect(JSON.stringify(stats)).toContain(`${JSON.stringify(name)}:{"keyType"`);
    expect(own(second.cache.stats().useCases, name)).toMatchObject({ hits: { remote: 1 } });
    const labels = { cacheNamespace: name, useCase: name, keyType: name };
    expect(first.metrics.count("request")).toBeGreaterThan(0);
    for (const event of first.metrics.of("request")) expect(event.labels).toMatchObject(labels);
    expect(first.log.warnings).toEqual([]);
  });

  it("is a label of Prometheus and Datadog as any other", async () => {
    const clock = manualClock();
    onTestFinished(installClock(clock));
    const scripted = new ScriptedClient();
    scripted.autoRead = () => null;
    scripted.autoWrite = () => true;
    const registry = new Registry();
    const told: [string, number, Record<string, string> | undefined][] = [];
    const tell = (metric: string, count: number, tags?: Record<string, string>) =>
      void told.push([metric, count, tags]);
    const tags = { cache_namespace: name, use_case: name, key_type: name };
    const prometheus = named(name, scripted, { metrics: createPrometheusDialCacheMetrics({ registry }) });
    await prometheus.load(name);
    expect(value(await registry.metrics(), "dialcache_request_counter", { ...tags, layer: "remote" })).toBe(1);
    const datadog = createDatadogDialCacheMetrics({
      client: { increment: tell, histogram: tell, distribution: tell },
      observationMetricType: "histogram",
    });
    await named(name, scripted, { metrics: datadog }).load(name);
    await clock.advance(10_000);
    expect(told).toContainEqual(["dialcache.request.count", 1, { ...tags, layer: "remote" }]);
  });

  it("is a source's, its events' and its figures'", async () => {
    const made = source([async () => "a"], { name, idempotent: true, retry: {} });
    const cache = new DialCache({ logger: null });
    const load = cache.cached(made, {
      keyType: name,
      useCase: name,
      cacheKey: () => name,
      defaultConfig: DialCacheKeyConfig.enabled(60),
    });
    expect(await cache.enable(() => load())).toBe("a");
    expect(Object.keys(cache.stats().sources)).toEqual([name]);
    expect(own(cache.stats().sources, name)).toMatchObject({ attempts: { primary: { ok: 1 } }, pending: 0 });
  });

  it("is an inline operation's, a key's and a policy's", async () => {
    const cache = new DialCache({
      namespace: name,
      logger: null,
      cacheConfigProvider: ({ useCase }) =>
        useCase === name ? new DialCacheKeyConfig({ ttlSec: { local: 60 } }) : null,
    });
    const key = { id: name, args: JSON.parse(`{"${name}":1}`) };
    const get = () => cache.enable(() => cache.getOrLoad(async () => name, { keyType: name, useCase: name, key }));
    expect([await get(), await get()]).toEqual([name, name]);
    expect(own(cache.stats().useCases, name)).toMatchObject({ hits: { local: 1 }, sourceCalls: 1 });
    const made = new DialCacheKey({ namespace: name, keyType: name, useCase: name, id: name } as never);
    expect(`${made}`).toContain(encodeURIComponent(name));
    const serializer = new JsonSerializer<Record<string, unknown>>();
    const loaded = (await serializer.load(`{"${name}":{"polluted":true}}`)) as object;
    expect(own(loaded, name)).toEqual({ polluted: true });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("is a host that cannot be reached, and the source serves", async () => {
    const client = new RedisClient({ nodes: [{ host: name, port: 1 }], connectTimeoutMs: 200 });
    const { cache, load } = named(name, client);
    onTestFinished(async () => {
      await cache.close();
      client.close();
    });
    expect(JSON.stringify(await load("1"))).toContain("__proto__");
  });
});

describe.each(CLIENTS.map((kind) => [kind.name, kind] as const))("%s", (_client, kind) => {
  it("takes keys and values of such names", async () => {
    const { client, close } = await kind.connect({ port: server.port });
    onTestFinished(close);
    for (const name of NAMES) {
      const request = { valueKey: `{${name}}#${name}`, watermarkKey: `{${name}}#watermark` };
      await client.write({ ...request, value: name, cacheTtlMs: 60_000 });
      expect(payloadOf(await client.read(request))).toBe(name);
      await client.write({ valueKey: name, value: name, cacheTtlMs: 60_000 });
      expect(payloadOf(await client.read({ valueKey: name }))).toBe(name);
    }
  });
});
