/**
 * Every option of the public constructors and of `cached()`/`getOrLoad()` with values it must refuse. One table, run
 * against the functions that check options and against the classes that use them.
 */

/** One refused value. */
export interface BadOption {
  /** For the test's title. */
  readonly title: string;
  /** Path of the refused option, as the error names it. */
  readonly option: string;
  /** Everything the call is given: valid but for this one option. */
  readonly options: Record<string, unknown>;
  readonly error: "TypeError" | "RangeError" | "UseCaseNameIsReservedError";
  /** Text the message must not contain. */
  readonly secret?: string;
}

/** What every caller-owned client must have. */
export const someClient = {
  read: async () => null,
  write: async () => true,
  invalidate: async () => {},
};

export const goodDialCacheOptions = {
  namespace: "users-api",
  redis: { client: someClient, readTimeoutMs: 50 },
} as const;

export const goodCachedOptions = { keyType: "user_id", useCase: "GetUser", cacheKey: (id: string) => id } as const;

export const goodGetOrLoadOptions = { keyType: "user_id", useCase: "GetUser", key: "123" } as const;

export const goodRedisClientOptions = { url: "redis://127.0.0.1:6379" } as const;

const MAX_TIMEOUT_MS = 2_147_483_647;

type Refused = readonly [value: unknown, error: BadOption["error"]];

/** Wrong for every number. */
const notNumbers: readonly Refused[] = [
  [null, "TypeError"],
  ["50", "TypeError"],
  ["", "TypeError"],
  [50n, "TypeError"],
  [true, "TypeError"],
  [{}, "TypeError"],
  [[50], "TypeError"],
  [new Date(50), "TypeError"],
  [() => 50, "TypeError"],
  [Symbol("50"), "TypeError"],
];

/** Wrong for every whole number that must be positive. */
const notPositive: readonly Refused[] = [
  ...notNumbers,
  [0, "RangeError"],
  [-0, "RangeError"],
  [-1, "RangeError"],
  [0.5, "RangeError"],
  [1.5, "RangeError"],
  [Number.NaN, "RangeError"],
  [Number.POSITIVE_INFINITY, "RangeError"],
  [Number.NEGATIVE_INFINITY, "RangeError"],
  [Number.MAX_SAFE_INTEGER + 1, "RangeError"],
];

const notTimeouts: readonly Refused[] = [...notPositive, [MAX_TIMEOUT_MS + 1, "RangeError"]];

const notNatural: readonly Refused[] = notPositive.filter(([value]) => value !== 0);

const notTtls: readonly Refused[] = [...notPositive, [31_536_001, "RangeError"]];

const notRamps: readonly Refused[] = [
  ...notNumbers,
  [-0.1, "RangeError"],
  [100.1, "RangeError"],
  [Number.NaN, "RangeError"],
  [Number.POSITIVE_INFINITY, "RangeError"],
];

/** Null stands for "none given" where DialCache takes it for that. */
const given = ([value]: Refused): boolean => value !== null;

const notBooleans: readonly Refused[] = [null, 0, 1, "true", {}].map((value) => [value, "TypeError"]);

const notFunctions: readonly Refused[] = [null, "id", 1, {}, []].map((value) => [value, "TypeError"]);

const notObjects: readonly Refused[] = [null, 1, "text", true, [], () => {}].map((value) => [value, "TypeError"]);

const notNames: readonly Refused[] = [
  [undefined, "TypeError"],
  [null, "TypeError"],
  [1, "TypeError"],
  [{}, "TypeError"],
  ["", "RangeError"],
];

const notSerializers: readonly Refused[] = [
  [null, "TypeError"],
  ["json", "TypeError"],
  [{}, "TypeError"],
  [{ dump: () => "" }, "TypeError"],
  [{ dump: () => "", load: "load" }, "TypeError"],
  [JSON, "TypeError"],
];

/** A table builder for the options of one call. */
function tableOf(base: Record<string, unknown>) {
  /** `path` set to each value in turn; `option` when the error names another one. */
  return (path: string, refused: readonly Refused[], option = path, secret?: string): BadOption[] =>
    refused.map(([value, error]) => ({
      title: `${path}: ${describe(value)}`,
      option,
      options: withOption(base, path.split("."), value),
      error,
      ...(secret === undefined ? {} : { secret }),
    }));
}

/** A deep copy of `base` with one member replaced. */
function withOption(base: Record<string, unknown>, [name, ...rest]: string[], value: unknown): Record<string, unknown> {
  const inner = (base[name!] ?? {}) as Record<string, unknown>;
  return { ...base, [name!]: rest.length === 0 ? value : withOption(inner, rest, value) };
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "function";
  if (value instanceof Date) return "Date";
  if (Object.is(value, -0)) return "-0";
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

const redisOf = tableOf({ redis: { readTimeoutMs: 50 } });
const clientOf = tableOf(goodDialCacheOptions);
const instance = tableOf({});

const SECRET = "hunter2";

const notUrls: readonly Refused[] = [
  [null, "TypeError"],
  [6379, "TypeError"],
  [{}, "TypeError"],
  ["", "RangeError"],
  ["127.0.0.1:6379", "RangeError"],
  ["redis://", "RangeError"],
  ["redis:127.0.0.1", "RangeError"],
  [`http://:${SECRET}@127.0.0.1`, "RangeError"],
  [`:${SECRET}@127.0.0.1:6379`, "RangeError"],
  [`redis://:${SECRET}\ud800@127.0.0.1:6379`, "RangeError"],
  [`rediss://:${SECRET}@127.0.0.1:6379/#insecure`, "RangeError"],
  [`REDISS://:${SECRET}@127.0.0.1:6379#INSECURE`, "RangeError"],
];

export const badDialCacheOptions: readonly BadOption[] = [
  ...instance("namespace", [
    ...notNames.filter(([value]) => value !== undefined),
    ["a{b", "RangeError"],
    ["a}b", "RangeError"],
    ["{a}", "RangeError"],
    ["a\ud800", "RangeError"],
    ["\udc00a", "RangeError"],
  ]),
  ...instance("redis", notObjects),
  ...instance("redis", [[`redis://:${SECRET}@127.0.0.1`, "TypeError"]], "redis", SECRET),
  ...instance("redis", [[{}, "TypeError"]], "redis.readTimeoutMs"),
  ...clientOf("redis.readTimeoutMs", [[undefined, "TypeError"], ...notTimeouts]),
  ...clientOf("redis.client", [
    [null, "TypeError"],
    [{}, "TypeError"],
    [{ ...someClient, read: undefined }, "TypeError"],
    [{ ...someClient, write: 1 }, "TypeError"],
    [{ ...someClient, invalidate: null }, "TypeError"],
  ]),
  ...clientOf("redis.client", [[`redis://:${SECRET}@127.0.0.1`, "TypeError"]], "redis.client", SECRET),
  ...clientOf("redis.url", [["redis://127.0.0.1:6379", "TypeError"]]),
  ...clientOf("redis.url", [[null, "TypeError"]]),
  ...redisOf("redis.url", notUrls, "redis.url", SECRET),
  ...clientOf("redis.serializer", notSerializers),
  ...clientOf("redis.compression", notObjects),
  ...clientOf("redis.compression.thresholdBytes", notNatural),
  ...clientOf("redis.compression.level", [...notPositive, [23, "RangeError"]]),
  ...clientOf("redis.compression.treshold", [[1, "TypeError"]]),
  ...clientOf("redis.readTimeout", [[50, "TypeError"]]),
  ...instance("localMaxSize", [...notNatural, [2 ** 26 + 1, "RangeError"]]),
  ...instance("localPolicy", [
    [null, "TypeError"],
    [1, "TypeError"],
    ["", "RangeError"],
    ["LRU", "RangeError"],
    ["tinylfu", "RangeError"],
    ["fifo", "RangeError"],
  ]),
  ...instance("cacheConfigProvider", notFunctions),
  ...instance("metrics", [
    [null, "TypeError"],
    ["statsd", "TypeError"],
    [{}, "TypeError"],
    [{ increment: () => {} }, "TypeError"],
  ]),
  ...instance("metrics", [[{ request: 1 }, "TypeError"]], "metrics.request"),
  ...instance("logger", [
    ["console", "TypeError"],
    [false, "TypeError"],
    [{}, "TypeError"],
    [{ log: () => {} }, "TypeError"],
  ]),
  ...instance("logger", [[{ warn: "warn" }, "TypeError"]], "logger.warn"),
  ...instance("shadowMaxInFlight", notPositive),
  ...instance("localTimings", notBooleans),
  ...instance("namspace", [["users-api", "TypeError"]]),
];

function badUseCaseOptions(base: Record<string, unknown>): BadOption[] {
  const of = tableOf(base);
  return [
    ...of("keyType", notNames),
    ...of("useCase", [...notNames, ["a\ud800", "RangeError"], ["watermark", "UseCaseNameIsReservedError"]]),
    ...of("defaultConfig", notObjects.filter(given)),
    ...of("defaultConfig.ttlSec", notObjects),
    ...of("defaultConfig.ttlSec.local", notTtls),
    ...of("defaultConfig.ttlSec.remote", notTtls),
    ...of("defaultConfig.ttlSec.redis", [[60, "TypeError"]]),
    ...of("defaultConfig.ramp", notObjects),
    ...of("defaultConfig.ramp.local", notRamps),
    ...of("defaultConfig.ramp.remote", notRamps),
    ...of("defaultConfig.requestLocal", notBooleans),
    ...of("defaultConfig.coalesce", notBooleans),
    ...of("defaultConfig.shadow", notObjects),
    ...of("defaultConfig.shadow.ramp", notRamps),
    ...of("defaultConfig.shadow.logMismatches", notBooleans),
    ...of("defaultConfig.remoteReadTimeoutMs", [[50, "TypeError"]]),
    ...of("defaultConfig.ttl", [[60, "TypeError"]]),
    ...of("serializer", notSerializers.filter(given)),
    ...of("trackForInvalidation", notBooleans),
    ...of("redisReadTimeoutMs", notTimeouts),
    ...of(
      "fallbackTimeoutMs",
      notTimeouts.filter(([value]) => value !== null),
    ),
    ...of("shadowComparator", notFunctions),
    ...of("readTimeoutMs", [[50, "TypeError"]]),
    ...of("readHedge", notObjects),
    ...of("readHedge.delayMs", [
      [undefined, "TypeError"],
      ["5", "TypeError"],
      [0, "RangeError"],
      [-1, "RangeError"],
      [Number.NaN, "RangeError"],
      [Number.POSITIVE_INFINITY, "RangeError"],
    ]),
    ...tableOf({ ...base, trackForInvalidation: true })("keyType", [
      ["user{id", "RangeError"],
      ["}", "RangeError"],
    ]),
  ];
}

export const badCachedOptions: readonly BadOption[] = [
  ...badUseCaseOptions(goodCachedOptions),
  ...tableOf(goodCachedOptions)("cacheKey", [[undefined, "TypeError"], ...notFunctions]),
  ...tableOf(goodCachedOptions)("key", [["123", "TypeError"]]),
];

export const badGetOrLoadOptions: readonly BadOption[] = [
  ...badUseCaseOptions(goodGetOrLoadOptions),
  {
    title: "key: left out",
    option: "key",
    options: { keyType: "user_id", useCase: "GetUser" },
    error: "TypeError",
  },
  ...tableOf(goodGetOrLoadOptions)("cacheKey", [[(id: string) => id, "TypeError"]]),
];

const native = tableOf(goodRedisClientOptions);

const notSecrets: readonly Refused[] = [
  [null, "TypeError"],
  [1234, "TypeError"],
  [Buffer.from(SECRET), "TypeError"],
  [[SECRET], "TypeError"],
  ["", "RangeError"],
  [`${SECRET}\ud800`, "RangeError"],
];

const notPem: readonly Refused[] = [
  [null, "TypeError"],
  [1, "TypeError"],
  [{}, "TypeError"],
  ["", "RangeError"],
];

const cluster = tableOf({});

const withCert = tableOf({ ...goodRedisClientOptions, tls: { cert: "cert", key: "key" } });

export const badRedisClientOptions: readonly BadOption[] = [
  ...native("url", notUrls, "url", SECRET),
  ...native("nodes", [[["redis://127.0.0.1:7000"], "TypeError"]]),
  ...cluster("nodes", [...notObjects.filter(([value]) => !Array.isArray(value)), [[], "RangeError"]]),
  ...cluster(
    "nodes",
    [
      [["redis://"], "RangeError"],
      [[1], "TypeError"],
      [[null], "TypeError"],
    ],
    "nodes[0]",
  ),
  ...native("tls", notObjects),
  ...native("tls", [[`-----BEGIN PRIVATE KEY-----\n${SECRET}`, "TypeError"]], "tls", SECRET),
  ...native("tls.ca", [...notPem, [[], "RangeError"], [[1], "TypeError"], [["ca", null], "TypeError"]]),
  ...withCert("tls.cert", notPem),
  ...withCert("tls.key", [...notPem, [undefined, "TypeError"]]),
  ...native("tls.servername", [
    [null, "TypeError"],
    [1, "TypeError"],
    ["", "RangeError"],
  ]),
  ...native("tls.rejectUnauthorized", notBooleans),
  ...native("tls.passphrase", [[SECRET, "TypeError"]], "tls.passphrase", SECRET),
  ...tableOf({ url: "unix:///run/redis.sock" })("tls", [[{}, "TypeError"]]),
  ...native("username", notSecrets, "username", SECRET),
  ...native("password", notSecrets, "password", SECRET),
  ...native("credentials", notFunctions),
  ...native("credentials", [[SECRET, "TypeError"]], "credentials", SECRET),
  ...["username", "password"].flatMap((name) =>
    tableOf({ ...goodRedisClientOptions, [name]: SECRET })(
      "credentials",
      [[() => ({ password: SECRET }), "TypeError"]],
      "credentials",
      SECRET,
    ),
  ),
  ...native("database", [...notNatural, [MAX_TIMEOUT_MS + 1, "RangeError"]]),
  ...native("clientName", [
    [null, "TypeError"],
    [1, "TypeError"],
    ["", "RangeError"],
    ["two words", "RangeError"],
    ["line\nbreak", "RangeError"],
    ["ünïcode", "RangeError"],
  ]),
  ...native("connectTimeoutMs", notTimeouts),
  ...native("responseTimeoutMs", notTimeouts),
  ...native("maxPending", notPositive),
  ...native("maxPendingBytes", notPositive),
  ...native("reconnect", notObjects),
  ...native("reconnect.baseDelayMs", notTimeouts),
  ...native("reconnect.maxDelayMs", notTimeouts),
  ...native("reconnect.baseDelayMs", [[2001, "RangeError"]], "reconnect.maxDelayMs"),
  ...native("reconnect.maxDelayMs", [[49, "RangeError"]]),
  ...native("reconnect.delayMs", [[50, "TypeError"]]),
  ...native("host", [["127.0.0.1", "TypeError"]]),
];
