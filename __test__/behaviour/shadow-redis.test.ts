import { randomBytes } from "node:crypto";
import {
  BufferSerializer,
  DialCache,
  type DialCacheConfig,
  type DialCacheKeyConfig,
  RedisClient,
  type RedisConfig,
  type Serializer,
  StringSerializer,
} from "dialcache-native";
import { idle } from "dialcache-native/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CLIENTS } from "../support/adapters";
import { runScript } from "../support/child";
import { turns, until } from "../support/real-time";
import { recordMetrics } from "../support/recorders";
import { type RedisServer, startRedis } from "../support/redis-server";
import { JSON_SERIALIZER, useCaseStats } from "../support/rig";
import { RAMPED_DOWN, SERVED } from "../support/shadow";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const KINDS = CLIENTS.filter(({ name }) =>
  ["native client", "node-redis 5", "ioredis 5", "valkey-glide"].includes(name),
);

const TEXT = "compressible é ".repeat(20_000);

/** Values whose stored forms differ: text, bytes, escaped, compressed, big, nothing. */
const VALUES: readonly (readonly [name: string, serializer: Serializer<unknown>, value: unknown])[] = [
  ["JSON", JSON_SERIALIZER, { name: "Zoë", list: [1, null] }],
  ["JSON undefined", JSON_SERIALIZER, undefined],
  ["big JSON", JSON_SERIALIZER, { TEXT }],
  ["no string", new StringSerializer() as Serializer<unknown>, ""],
  ["bytes like an envelope", new BufferSerializer() as Serializer<unknown>, Buffer.from([0, 1, 2])],
  ["big bytes", new BufferSerializer() as Serializer<unknown>, Buffer.from(TEXT)],
  ["bytes that do not compress", new BufferSerializer() as Serializer<unknown>, randomBytes(100_000)],
];

const PREFIX = { false: "redis:user_id:1", true: "{redis:user_id:1}" } as const;
const keyOf = (tracked: boolean) => `${PREFIX[`${tracked}`]}#GetUser:dialcache-frame-v1`;

describe.each(KINDS)("Redis itself, $name", (kind) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  async function world(config: Partial<DialCacheConfig> = {}, readTimeoutMs = 5_000) {
    await server.command("FLUSHALL");
    const { client, close } = await kind.connect({ port: server.port });
    const metrics = recordMetrics();
    const make = () => {
      const redis = { client, readTimeoutMs } as RedisConfig;
      const cache = new DialCache({ namespace: "redis", redis, metrics: metrics.adapter, logger: null, ...config });
      onTestFinished(() => cache.close());
      return cache;
    };
    onTestFinished(async () => {
      server.thaw();
      close();
    });
    return { client, metrics, make };
  }

  function loader(
    cache: DialCache,
    source: () => unknown,
    options: { defaultConfig: DialCacheKeyConfig; tracked?: boolean; serializer?: Serializer<unknown> },
  ) {
    const { tracked = false, serializer = JSON_SERIALIZER, defaultConfig } = options;
    const load = cache.cached(async (_id: string): Promise<unknown> => source(), {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id) => id,
      serializer,
      defaultConfig,
      trackForInvalidation: tracked,
    });
    return () => cache.enable(() => load("1"));
  }

  const outcomes = (cache: DialCache) => useCaseStats(cache, "GetUser").shadow;
  const jobsEnded = (cache: DialCache) =>
    until("the jobs end", () => cache.stats().shadow.inFlight === 0 && Object.keys(outcomes(cache) ?? {}).length > 0);

  describe.each([false, true])("tracked: %s", (tracked) => {
    it.each(VALUES)("%s: filled where nothing is served, then served and equal, with its age", async (...row) => {
      const [, serializer, value] = row;
      const { make, metrics } = await world();
      const filling = make();
      const fill = loader(filling, () => value, { defaultConfig: RAMPED_DOWN, tracked, serializer });
      expect(await fill()).toBe(value);
      expect(await filling.drain()).toBe(true);
      expect(outcomes(filling)).toEqual({ filled: 1 });
      const ttl = Number(await server.command("PTTL", keyOf(tracked)));
      expect(ttl).toBeGreaterThan(50_000);
      expect(ttl).toBeLessThanOrEqual(60_000);

      const again = make();
      await loader(again, () => value, { defaultConfig: RAMPED_DOWN, tracked, serializer })();
      await jobsEnded(again);
      expect(outcomes(again)).toEqual({ match: 1 });

      const serving = make();
      const serve = loader(serving, () => value, { defaultConfig: SERVED, tracked, serializer });
      const served = await serve();
      expect(Buffer.isBuffer(value) ? value.equals(served as Buffer) : served).toEqual(
        Buffer.isBuffer(value) ? true : value,
      );
      await jobsEnded(serving);
      expect(outcomes(serving)).toEqual({ match: 1 });
      expect(useCaseStats(serving, "GetUser")).toMatchObject({ hits: { remote: 1 }, sourceCalls: 0 });
      const ages = metrics.of("observeShadowValueAge").map(({ value: age }) => age as number);
      expect(ages).toHaveLength(kind.name === "native client" ? 2 : ages.length);
      for (const age of ages) {
        expect(age).toBeGreaterThanOrEqual(0);
        expect(age).toBeLessThan(60);
      }
    });

    it("mismatch: the source has changed, and Redis has not; superseded: Redis has", async () => {
      const { make } = await world();
      const first = make();
      await loader(first, () => 1, { defaultConfig: SERVED, tracked })();
      await first.drain();
      const second = make();
      expect(await loader(second, () => 2, { defaultConfig: SERVED, tracked })()).toBe(1);
      await jobsEnded(second);
      expect(outcomes(second)).toEqual({ mismatch: 1 });
      const third = make();
      const replacing = async () => {
        await server.command("DEL", keyOf(tracked));
        return 2;
      };
      expect(await loader(third, replacing, { defaultConfig: SERVED, tracked })()).toBe(1);
      await jobsEnded(third);
      expect(outcomes(third)).toEqual({ superseded: 1 });
    });
  });

  it("fill_blocked: an invalidation meanwhile, by another process or by this one", async () => {
    const { make } = await world();
    for (const [by, buffer] of [
      ["another", 60_000],
      ["this", 0],
    ] as const) {
      await server.command("FLUSHALL");
      const cache = make();
      const invalidating = by === "this" ? cache : make();
      const source = async () => {
        await until("the read is over", async () =>
          /cmdstat_mget:calls=/.test(String(await server.command("INFO", "commandstats"))),
        );
        await invalidating.invalidateRemote("user_id", "1", buffer);
        return 1;
      };
      await server.command("CONFIG", "RESETSTAT");
      expect(await loader(cache, source, { defaultConfig: RAMPED_DOWN, tracked: true })()).toBe(1);
      await jobsEnded(cache);
      expect(outcomes(cache), by).toEqual({ fill_blocked: 1 });
      const other = make();
      expect(await loader(other, () => 2, { defaultConfig: SERVED, tracked: true })(), "served nothing stale").toBe(2);
      // Its refused write is over before the watermark that refuses it is flushed.
      expect(await other.drain()).toBe(true);
      await cache.close();
    }
  });

  it("superseded: a tracked entry that was invalidated meanwhile is no mismatch", async () => {
    const { make } = await world();
    const first = make();
    await loader(first, () => 1, { defaultConfig: SERVED, tracked: true })();
    await first.drain();
    const second = make();
    const source = async () => {
      await first.invalidateRemote("user_id", "1", 60_000);
      return 2;
    };
    expect(await loader(second, source, { defaultConfig: SERVED, tracked: true })()).toBe(1);
    await jobsEnded(second);
    expect(outcomes(second)).toEqual({ superseded: 1 });
  });

  it("fill_error: something that only looks like a Buffer", async () => {
    const { make } = await world({ metrics: undefined });
    const cache = make();
    const serializer = { dump: () => Object.create(Uint8Array.prototype) as never, load: () => 1 };
    expect(await loader(cache, () => 1, { defaultConfig: RAMPED_DOWN, serializer })()).toBe(1);
    await jobsEnded(cache);
    expect(outcomes(cache)).toEqual({ fill_error: 1 });
    expect(await cache.drain({ timeoutMs: 0 })).toBe(true);
  });

  it("redis_error: a frozen server, whose reply is waited for no longer than the read deadline", async () => {
    const { make } = await world({}, 30);
    const cache = make();
    await server.freeze();
    expect(await loader(cache, () => 1, { defaultConfig: RAMPED_DOWN })()).toBe(1);
    await until("the outcome", () => outcomes(cache)?.redis_error === 1);
    server.thaw();
    await jobsEnded(cache);
    expect(outcomes(cache)).toEqual({ redis_error: 1 });
    expect(await server.command("EXISTS", keyOf(false))).toBe(0);
  });
});

describe("The process does not stay for it", () => {
  const SCRIPT = `
    const client = new dialcache.RedisClient({ url: process.env.URL, responseTimeoutMs: 600_000 });
    let reads = 0;
    const cache = new dialcache.DialCache({
      namespace: "exit", redis: { client, readTimeoutMs: 500_000 }, logger: null,
      metrics: { observeGet: () => { reads += 1; } },
    });
    const freeze = () => process.kill(Number(process.env.PID), "SIGSTOP");
    const load = (config, source) => {
      const cached = cache.cached(source, {
        keyType: "user_id", useCase: "GetUser", cacheKey: () => "1",
        defaultConfig: new dialcache.DialCacheKeyConfig({ ttlSec: { remote: 60 }, shadow: { ramp: 100 }, ...config }),
      });
      return cache.enable(() => cached());
    };
    const turns = async (more) => { while (await more()) await new Promise((resolve) => setTimeout(resolve, 1)); };`;
  const RAMP = `{ ramp: { remote: 0 } }`;

  it.each<[string, string]>([
    [
      "a read of a job",
      `client.ready().then(async () => {
        console.log(await load(${RAMP}, async () => { freeze(); return "source"; }));
        await turns(() => client.stats().pending === 0);
        console.log(cache.stats().shadow.inFlight, "reading");
      });`,
    ],
    [
      "a write of a job",
      `client.ready().then(async () => {
        const gate = [];
        const call = load(${RAMP}, () => new Promise((resolve) => gate.push(resolve)));
        await turns(() => reads === 0);
        freeze();
        gate[0]("source");
        console.log(await call);
        await turns(() => client.stats().pending === 0);
        console.log(cache.stats().shadow.inFlight, "writing");
      });`,
    ],
    [
      "a job's deadline, with nothing else left",
      `client.ready().then(async () => {
        await load({}, async () => "source");
        await cache.drain();
        const value = await cache.enable(() => cache.getOrLoad(() => new Promise(() => {}), {
          keyType: "user_id", useCase: "GetUser", key: "1", fallbackTimeoutMs: 500_000,
          defaultConfig: new dialcache.DialCacheKeyConfig({ ttlSec: { remote: 60 }, shadow: { ramp: 100 } }),
        }));
        console.log(value);
        console.log(cache.stats().shadow.inFlight, "comparing");
      });`,
    ],
  ])("%s", async (_title, script) => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const result = await runScript(SCRIPT + script, { URL: server.url, PID: String(server.pid) });
    expect(result).toMatchObject({ code: 0, signal: null, stderr: "" });
    expect(result.stdout).toMatch(/^source\n1 (reading|writing|comparing)\n$/);
  });

  it("idle() waits for what a job has asked of a native client", async () => {
    const server = await startRedis();
    const client = new RedisClient({ url: server.url });
    await client.ready({ timeoutMs: 10_000 });
    const cache = new DialCache({ redis: { client, readTimeoutMs: 60_000 }, logger: null });
    onTestFinished(async () => {
      server.thaw();
      await cache.close();
      client.close();
      await server.stop();
    });
    const load = cache.cached(async () => 1, {
      keyType: "user_id",
      useCase: "Idle",
      cacheKey: () => "1",
      defaultConfig: RAMPED_DOWN,
    });
    await server.freeze();
    await cache.enable(() => load());
    await until("the read is sent", () => client.stats().pending === 1);
    let resolved = false;
    const waiting = idle().then(() => {
      resolved = true;
    });
    await turns(5);
    expect(resolved).toBe(false);
    server.thaw();
    await waiting;
    expect(await cache.drain()).toBe(true);
    expect(useCaseStats(cache, "Idle").shadow).toEqual({ filled: 1 });
  });
});
