import { afterEach, describe, expect, it, vi } from "vitest";
import { DialCacheKeyConfig } from "../lib/config";
import {
  resolveCachedOptions,
  resolveDialCacheOptions,
  resolveGetOrLoadOptions,
  resolveRedisClientOptions,
} from "../lib/options";
import { JsonSerializer, StringSerializer } from "../lib/serializer";
import {
  type BadOption,
  badCachedOptions,
  badDialCacheOptions,
  badGetOrLoadOptions,
  badRedisClientOptions,
  goodCachedOptions,
  goodDialCacheOptions,
  goodGetOrLoadOptions,
  goodRedisClientOptions,
  someClient,
} from "./support/bad-options";

function thrownBy(run: () => unknown): Error & { code?: string; option?: string } {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

const calls: [string, readonly BadOption[], object, (options: unknown) => unknown][] = [
  ["new DialCache()", badDialCacheOptions, goodDialCacheOptions, resolveDialCacheOptions],
  ["cached()", badCachedOptions, goodCachedOptions, resolveCachedOptions],
  ["getOrLoad()", badGetOrLoadOptions, goodGetOrLoadOptions, resolveGetOrLoadOptions],
  ["new RedisClient()", badRedisClientOptions, goodRedisClientOptions, resolveRedisClientOptions],
];

describe.each(calls)("options of %s", (api, bad, good, resolve) => {
  it("takes the valid options every row of the table starts from", () => {
    expect(() => resolve(good)).not.toThrow();
  });

  it.each(bad)("refuses $title", ({ option, options, error, secret }) => {
    const thrown = thrownBy(() => resolve(options));
    expect(thrown.name).toBe(error);
    if (error === "UseCaseNameIsReservedError") return;
    expect(thrown).toMatchObject({ code: "DIALCACHE_INVALID_OPTION", option });
    expect(thrown.message).toContain(`${api}: `);
    expect(thrown.message).toContain(option);
    if (secret !== undefined) expect(`${thrown.message}${thrown.stack}`).not.toContain(secret);
  });

  it.each([null, 1, "text", true, [], () => {}])("refuses %s in place of options", (options) => {
    const thrown = thrownBy(() => resolve(options));
    expect(thrown).toBeInstanceOf(TypeError);
    expect(thrown.message).toMatch(/options must be an object, got /);
  });

  it("does not quote a url that stands in place of options", () => {
    expect(thrownBy(() => resolve("redis://:hunter2@127.0.0.1")).message).toMatch(
      /options must be an object, got a string$/,
    );
  });

  it("reads every getter once", () => {
    const reads = new Map<string, number>();
    const counted: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(good)) {
      Object.defineProperty(counted, name, {
        enumerable: true,
        get: () => {
          reads.set(name, (reads.get(name) ?? 0) + 1);
          return value;
        },
      });
    }
    resolve(counted);
    expect(Object.fromEntries(reads)).toEqual(Object.fromEntries(Object.keys(good).map((name) => [name, 1])));
  });

  it("takes getters of a prototype", () => {
    const inherited = Object.create(
      Object.create(
        null,
        Object.fromEntries(Object.entries(good).map(([name, value]) => [name, { get: () => value }])),
      ),
    );
    expect(JSON.stringify(resolve(inherited))).toBe(JSON.stringify(resolve(good)));
  });

  it("treats explicit undefined as left out", () => {
    const optional = Object.fromEntries(optionalNames[api]!.map((name) => [name, undefined]));
    expect(JSON.stringify(resolve({ ...optional, ...good }))).toBe(JSON.stringify(resolve(good)));
  });
});

const optionalNames: Record<string, string[]> = {
  "new DialCache()": [
    "namespace",
    "redis",
    "localMaxSize",
    "localPolicy",
    "cacheConfigProvider",
    "metrics",
    "logger",
    "shadowMaxInFlight",
    "localTimings",
  ],
  "cached()": ["defaultConfig", "serializer", "trackForInvalidation", "redisReadTimeoutMs", "fallbackTimeoutMs"],
  "getOrLoad()": ["defaultConfig", "serializer", "trackForInvalidation", "redisReadTimeoutMs", "fallbackTimeoutMs"],
  "new RedisClient()": [
    "url",
    "nodes",
    "tls",
    "username",
    "password",
    "credentials",
    "database",
    "clientName",
    "connectTimeoutMs",
    "responseTimeoutMs",
    "maxPending",
    "maxPendingBytes",
    "reconnect",
  ],
};

describe("messages of refused options", () => {
  const refusals: [string, (options: unknown) => unknown, object, string][] = [
    [
      "a missing read deadline",
      resolveDialCacheOptions,
      { redis: { client: someClient } },
      "new DialCache(): redis.readTimeoutMs must be a whole number of milliseconds from 1 to 2147483647, got undefined",
    ],
    [
      "a misspelt name",
      resolveDialCacheOptions,
      { namspace: "a" },
      'new DialCache(): unknown option "namspace"; did you mean "namespace"?',
    ],
    [
      "a misspelt name inside",
      resolveDialCacheOptions,
      { redis: { readTimeout: 5 } },
      'new DialCache(): unknown option "redis.readTimeout"; did you mean "redis.readTimeoutMs"?',
    ],
    [
      "a name of another version",
      resolveCachedOptions,
      { ...goodCachedOptions, remoteReadTimeoutMs: 50 },
      'cached(): unknown option "remoteReadTimeoutMs"; did you mean "redisReadTimeoutMs"?',
    ],
    [
      "a name like no other",
      resolveDialCacheOptions,
      { redis: { client: someClient, readTimeoutMs: 5, __proto__: null, constructor: 1 } },
      'new DialCache(): unknown option "redis.constructor"; known are client, url, readTimeoutMs, serializer, compression',
    ],
    [
      "a read deadline inside a policy",
      resolveCachedOptions,
      { ...goodCachedOptions, defaultConfig: { remoteReadTimeoutMs: 5 } },
      "cached(): defaultConfig.remoteReadTimeoutMs is not part of a policy: give redisReadTimeoutMs to cached() or " +
        "getOrLoad(), or redis.readTimeoutMs to new DialCache()",
    ],
    [
      "a client beside a url",
      resolveDialCacheOptions,
      { redis: { client: someClient, url: "redis://127.0.0.1", readTimeoutMs: 5 } },
      "new DialCache(): redis.client and redis.url exclude each other: a client is already connected somewhere",
    ],
    [
      "a delay without a number",
      resolveCachedOptions,
      { ...goodCachedOptions, readHedge: { delayMs: "5" } },
      'cached(): readHedge.delayMs must be "auto" or a number of milliseconds above 0, got "5"',
    ],
    [
      "a long value",
      resolveDialCacheOptions,
      { localPolicy: "x".repeat(1000) },
      `new DialCache(): localPolicy must be "lru" or "tinyLfu", got "${"x".repeat(60)}..."`,
    ],
    [
      "a value over two lines",
      resolveDialCacheOptions,
      { localPolicy: "a\nb" },
      'new DialCache(): localPolicy must be "lru" or "tinyLfu", got "a\\nb"',
    ],
    [
      "a TTL in milliseconds",
      resolveCachedOptions,
      { ...goodCachedOptions, defaultConfig: DialCacheKeyConfig.enabled(60_000_000) },
      "cached(): defaultConfig.ttlSec.local must be a whole number of seconds from 1 to 31536000, got 60000000",
    ],
  ];

  it.each(refusals)("name %s", (_title, resolve, options, message) => {
    expect(thrownBy(() => resolve(options)).message).toBe(message);
  });

  it("run no code of the refused value", () => {
    const hostile = {
      toString: () => {
        throw new Error("toString ran");
      },
      get [Symbol.toStringTag]() {
        throw new Error("toStringTag ran");
      },
    };
    expect(thrownBy(() => resolveDialCacheOptions({ localMaxSize: hostile })).message).toMatch(/got an object$/);
  });
});

describe("defaults", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it("of an instance are local only, whatever the environment says", () => {
    vi.stubEnv("REDIS_URL", "redis://elsewhere:6379");
    const expected = {
      namespace: "urn",
      redis: undefined,
      localMaxSize: 10_000,
      localPolicy: "lru",
      cacheConfigProvider: undefined,
      metrics: undefined,
      logger: undefined,
      shadowMaxInFlight: 1,
      localTimings: false,
    };
    expect(resolveDialCacheOptions()).toEqual(expected);
    expect(resolveDialCacheOptions({})).toEqual(expected);
  });

  it("of redis are JSON, zstd level 3 from 4096 bytes, and the environment's url", () => {
    vi.stubEnv("REDIS_URL", "rediss://:hunter2@elsewhere:6380/2");
    const { redis } = resolveDialCacheOptions({ redis: { readTimeoutMs: 200 } });
    expect(redis).toMatchObject({
      client: undefined,
      url: "rediss://:hunter2@elsewhere:6380/2",
      readTimeoutMs: 200,
      compression: { thresholdBytes: 4096, level: 3 },
    });
    expect(redis?.serializer).toBeInstanceOf(JsonSerializer);
  });

  it.each([undefined, ""])("take the local Redis when REDIS_URL is %j", (url) => {
    vi.stubEnv("REDIS_URL", url);
    expect(resolveDialCacheOptions({ redis: { readTimeoutMs: 1 } }).redis?.url).toBe("redis://127.0.0.1:6379");
    expect(resolveRedisClientOptions().url).toBe("redis://127.0.0.1:6379");
  });

  it("name REDIS_URL, not its value, when that is what is wrong", () => {
    vi.stubEnv("REDIS_URL", "hunter2@elsewhere");
    const { message } = thrownBy(() => resolveDialCacheOptions({ redis: { readTimeoutMs: 1 } }));
    expect(message).toContain("REDIS_URL");
    expect(message).not.toContain("hunter2");
  });

  it("do not look at REDIS_URL when there is a client", () => {
    vi.stubEnv("REDIS_URL", "nonsense");
    const { redis } = resolveDialCacheOptions({ redis: { client: someClient, readTimeoutMs: 1 } });
    expect(redis).toMatchObject({ client: someClient, url: undefined });
  });

  it("of a use case are no layer, no override and 60 seconds for the source", () => {
    const { cacheKey } = goodCachedOptions;
    expect(resolveCachedOptions(goodCachedOptions)).toEqual({
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey,
      defaultConfig: null,
      defaults: {},
      serializer: undefined,
      trackForInvalidation: false,
      redisReadTimeoutMs: undefined,
      fallbackTimeoutMs: 60_000,
    });
  });

  it("of a native client are those of its documentation", () => {
    expect(resolveRedisClientOptions({ url: "redis://127.0.0.1:6379" })).toEqual({
      url: "redis://127.0.0.1:6379",
      nodes: [],
      tls: undefined,
      username: undefined,
      password: undefined,
      credentials: undefined,
      database: undefined,
      clientName: undefined,
      connectTimeoutMs: 2000,
      responseTimeoutMs: 2000,
      maxPending: 10_000,
      maxPendingBytes: 67_108_864,
      reconnect: { baseDelayMs: 50, maxDelayMs: 2000 },
    });
  });
});

describe("accepted values", () => {
  it.each([1, 2_147_483_647])("read deadlines of %d ms, per instance and per use case", (ms) => {
    expect(resolveDialCacheOptions({ redis: { client: someClient, readTimeoutMs: ms } }).redis?.readTimeoutMs).toBe(ms);
    expect(resolveCachedOptions({ ...goodCachedOptions, redisReadTimeoutMs: ms }).redisReadTimeoutMs).toBe(ms);
    expect(resolveGetOrLoadOptions({ ...goodGetOrLoadOptions, redisReadTimeoutMs: ms }).redisReadTimeoutMs).toBe(ms);
  });

  it("null turns the source's deadline off", () => {
    expect(resolveCachedOptions({ ...goodCachedOptions, fallbackTimeoutMs: null }).fallbackTimeoutMs).toBeUndefined();
  });

  it("0 turns the local layer off, false turns compression off, null silences", () => {
    const resolved = resolveDialCacheOptions({
      localMaxSize: 0,
      logger: null,
      redis: { client: someClient, readTimeoutMs: 1, compression: false },
    });
    expect(resolved).toMatchObject({ localMaxSize: 0, logger: null, redis: { compression: undefined } });
  });

  it("compression may name one of its two options", () => {
    const redis = { client: someClient, readTimeoutMs: 1 };
    const compressionOf = (compression: object) =>
      resolveDialCacheOptions({ redis: { ...redis, compression } }).redis?.compression;
    expect(compressionOf({ level: 22 })).toEqual({ thresholdBytes: 4096, level: 22 });
    expect(compressionOf({ thresholdBytes: 0 })).toEqual({ thresholdBytes: 0, level: 3 });
  });

  it("observers may lack hooks, have others, and be functions", () => {
    const metrics = { request: () => {}, registry: {} };
    const logger = Object.assign(() => {}, { warn: () => {} });
    expect(resolveDialCacheOptions({ metrics, logger })).toMatchObject({ metrics, logger });
  });

  it("serializers and clients stay the caller's objects", () => {
    const serializer = new StringSerializer();
    expect(resolveCachedOptions({ ...goodCachedOptions, serializer }).serializer).toBe(serializer);
  });

  it("a policy may be a plain object, and later changes of it change nothing", () => {
    const ttlSec = { local: 60 };
    const resolved = resolveCachedOptions({ ...goodCachedOptions, defaultConfig: { ttlSec } });
    ttlSec.local = 1;
    expect(resolved.defaults.ttlLocal).toBe(60);
    expect(resolved.defaultConfig).toBeInstanceOf(DialCacheKeyConfig);
    expect(resolved.defaultConfig?.ttlSec).toEqual({ local: 60 });
  });

  it("the same policy object is checked again for another place that refuses it", () => {
    const bad = new DialCacheKeyConfig({ ttlSec: { local: 0 } });
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(() => resolveCachedOptions({ ...goodCachedOptions, defaultConfig: bad })).toThrow(RangeError);
    }
  });

  it("a key of any kind: a bad one is the call's error, not the options'", () => {
    for (const key of [undefined, null, {}, "\ud800"]) {
      expect(resolveGetOrLoadOptions({ ...goodGetOrLoadOptions, key }).key).toBe(key);
    }
  });

  it("a key type that is ill-formed text: a key error of each call", () => {
    expect(resolveCachedOptions({ ...goodCachedOptions, keyType: "a\ud800" }).keyType).toBe("a\ud800");
  });

  it.each(["redis://h", "rediss://h:1", "unix:///s", "redis+unix:///s", "valkey://h", "valkeys://h"])(
    "the url %s",
    (url) => {
      expect(resolveRedisClientOptions({ url }).url).toBe(url);
    },
  );

  it("TLS with several authorities and a client certificate", () => {
    const key = Buffer.from("key");
    expect(resolveRedisClientOptions({ url: "rediss://h", tls: { ca: ["a", key], cert: "cert", key } }).tls).toEqual({
      ca: ["a", key],
      cert: "cert",
      key,
      servername: undefined,
      rejectUnauthorized: true,
    });
    expect(resolveRedisClientOptions({ url: "rediss://h", tls: { ca: "a" } }).tls?.ca).toEqual(["a"]);
    expect(resolveRedisClientOptions({ url: "rediss://h", tls: { rejectUnauthorized: false } }).tls).toMatchObject({
      ca: [],
      rejectUnauthorized: false,
    });
  });
});
