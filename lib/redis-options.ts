import {
  boolean,
  callback,
  inside,
  integer,
  invalid,
  MAX_TIMEOUT_MS,
  optionNames,
  type Place,
  readOptions,
  refuse,
  refuseSecret,
  undefinedOr,
  withMethods,
} from "./option-reader";
import type { DialCacheRedisClient, RedisCredentials } from "./redis-types";
import { type Awaitable, JsonSerializer, type Serializer } from "./serializer";
import { isWellFormed } from "./text";

export const DEFAULT_REDIS_URL = "redis://127.0.0.1:6379";

export interface ResolvedCompression {
  readonly thresholdBytes: number;
  readonly level: number;
}

/** `redis` of `new DialCache()`: exactly one of `client` and `url` is defined. */
export interface ResolvedRedis {
  readonly client: DialCacheRedisClient | undefined;
  /** May hold a password. */
  readonly url: string | undefined;
  readonly readTimeoutMs: number;
  readonly serializer: Serializer<unknown>;
  /** Undefined when compression is off. */
  readonly compression: ResolvedCompression | undefined;
}

export interface ResolvedTls {
  /** PEM; empty for the system's roots. */
  readonly ca: readonly (string | Uint8Array)[];
  readonly cert: string | Uint8Array | undefined;
  readonly key: string | Uint8Array | undefined;
  readonly servername: string | undefined;
  readonly rejectUnauthorized: boolean;
}

export interface ResolvedRedisClientOptions {
  /** May hold a password. Undefined for a cluster. */
  readonly url: string | undefined;
  /** Nodes of a cluster, as urls; empty for a single server. */
  readonly nodes: readonly string[];
  readonly tls: ResolvedTls | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly credentials: (() => Awaitable<RedisCredentials>) | undefined;
  /** Undefined: the url's, else 0. */
  readonly database: number | undefined;
  readonly clientName: string | undefined;
  readonly connectTimeoutMs: number;
  readonly responseTimeoutMs: number;
  readonly maxPending: number;
  readonly maxPendingBytes: number;
  readonly reconnect: { readonly baseDelayMs: number; readonly maxDelayMs: number };
}

const REDIS = optionNames("client", "url", "readTimeoutMs", "serializer", "compression");
const COMPRESSION = optionNames("thresholdBytes", "level");
const CLIENT = optionNames(
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
);
const NODE = optionNames("host", "port");
const TLS = optionNames("ca", "cert", "key", "servername", "rejectUnauthorized");
const RECONNECT = optionNames("baseDelayMs", "maxDelayMs");

const TIMEOUT = { min: 1, max: MAX_TIMEOUT_MS, unit: "milliseconds" } as const;
const SERIALIZER = ["dump", "load"] as const;

/** Milliseconds of a deadline. */
export function timeoutMs(value: unknown, place: Place, name: string): number {
  return integer(value, place, name, TIMEOUT);
}

export function serializerOption(value: unknown, place: Place): Serializer<unknown> {
  return withMethods(value, place, "serializer", SERIALIZER);
}

/** `redis` of `new DialCache()`. */
export function resolveRedis(input: unknown, place: Place): ResolvedRedis {
  const { client, url, readTimeoutMs, serializer, compression } = readOptions(input, place, REDIS);
  if (client !== undefined && url !== undefined) {
    const message = `${place.path}client and ${place.path}url exclude each other: a client is already connected somewhere`;
    throw invalid(TypeError, place, `${place.path}url`, message);
  }
  return {
    client: client === undefined ? undefined : withMethods(client, place, "client", ["read", "write", "invalidate"]),
    url: client === undefined ? resolveUrl(url, place) : undefined,
    readTimeoutMs: timeoutMs(readTimeoutMs, place, "readTimeoutMs"),
    serializer: serializer === undefined ? new JsonSerializer() : serializerOption(serializer, place),
    compression: resolveCompression(compression, place),
  };
}

/**
 * Options of `new RedisClient()`, checked, with their defaults.
 * @throws TypeError or RangeError naming the option; never a url, a password or a key.
 */
export function resolveRedisClientOptions(input: unknown = {}): ResolvedRedisClientOptions {
  const place: Place = { api: "new RedisClient()", path: "" };
  const options = readOptions(input, place, CLIENT);
  const { url: urlOption, nodes, tls, username, password, credentials, database, clientName } = options;
  if (nodes !== undefined && urlOption !== undefined) {
    throw invalid(TypeError, place, "nodes", "nodes and url exclude each other: nodes are those of a cluster");
  }
  if (nodes !== undefined && database !== undefined && database !== 0) {
    throw invalid(RangeError, place, "database", "database must be 0 with nodes: a cluster has no other");
  }
  if (credentials !== undefined && (password !== undefined || username !== undefined)) {
    throw invalid(TypeError, place, "credentials", "credentials take the place of username and password");
  }
  const seeds = nodes === undefined ? [] : resolveNodes(nodes, place);
  const url = nodes === undefined ? resolveUrl(urlOption, place) : undefined;
  return {
    url,
    nodes: seeds,
    tls: resolveTls(tls, place, url ?? (seeds[0] as string)),
    username: text(username, place, "username"),
    password: text(password, place, "password"),
    credentials: credentials === undefined ? undefined : callback(credentials, place, "credentials"),
    database:
      database === undefined ? undefined : integer(database, place, "database", { min: 0, max: MAX_TIMEOUT_MS }),
    clientName: resolveClientName(clientName, place),
    ...resolveBudgets(options, place),
  };
}

type Budgets = "connectTimeoutMs" | "responseTimeoutMs" | "maxPending" | "maxPendingBytes" | "reconnect";

function resolveBudgets(
  { connectTimeoutMs, responseTimeoutMs, maxPending, maxPendingBytes, reconnect }: Readonly<Record<Budgets, unknown>>,
  place: Place,
): Pick<ResolvedRedisClientOptions, Budgets> {
  return {
    connectTimeoutMs: timeoutMs(undefinedOr(connectTimeoutMs, 2000), place, "connectTimeoutMs"),
    responseTimeoutMs: timeoutMs(undefinedOr(responseTimeoutMs, 2000), place, "responseTimeoutMs"),
    maxPending: integer(undefinedOr(maxPending, 10_000), place, "maxPending", { min: 1 }),
    maxPendingBytes: integer(undefinedOr(maxPendingBytes, 64 * 1024 * 1024), place, "maxPendingBytes", {
      min: 1,
      unit: "bytes",
    }),
    reconnect: resolveReconnect(reconnect, inside(place, "reconnect")),
  };
}

function resolveCompression(value: unknown, place: Place): ResolvedCompression | undefined {
  if (value === false) return undefined;
  if (value === true) throw refuse(value, place, "compression", "object", "an object or false");
  const at = inside(place, "compression");
  const { thresholdBytes, level } = readOptions(undefinedOr(value, {}), at, COMPRESSION);
  return {
    thresholdBytes: integer(undefinedOr(thresholdBytes, 4096), at, "thresholdBytes", { min: 0, unit: "bytes" }),
    level: integer(undefinedOr(level, 3), at, "level", { min: 1, max: 22 }),
  };
}

const SCHEME = /^(rediss?|valkeys?|(redis\+|valkey\+)?unix):\/\/./;

function resolveUrl(value: unknown, place: Place): string {
  if (value !== undefined) return checkUrl(value, place, "url");
  const { REDIS_URL: fromEnvironment } = process.env;
  if (fromEnvironment === undefined || fromEnvironment === "") return DEFAULT_REDIS_URL;
  return checkUrl(fromEnvironment, { api: place.api, path: "" }, "REDIS_URL");
}

function checkUrl(value: unknown, place: Place, name: string): string {
  if (typeof value === "string" && /^rediss:.*#insecure$/i.test(value)) {
    const message = `${place.path}${name} must not turn the check of certificates off by #insecure; a RedisClient does so with tls.rejectUnauthorized: false`;
    throw invalid(RangeError, place, place.path + name, message);
  }
  if (typeof value === "string" && SCHEME.test(value) && isWellFormed(value)) return value;
  throw refuseSecret(value, place, name, "a redis://, rediss:// or unix:// url");
}

/** Text that may be a secret. */
function text(value: unknown, place: Place, name: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "" && isWellFormed(value)) return value;
  throw refuseSecret(value, place, name, "a non-empty string");
}

/** Some nodes of a cluster, as urls. */
function resolveNodes(value: unknown, place: Place): readonly string[] {
  if (!Array.isArray(value)) throw refuse(value, place, "nodes", "object", "an array of urls or { host, port }");
  if (value.length === 0) throw invalid(RangeError, place, "nodes", "nodes must name at least one node of the cluster");
  return value.map((node: unknown, index) => {
    const name = `nodes[${index}]`;
    if (typeof node === "string") return checkUrl(node.includes("://") ? node : `redis://${node}`, place, name);
    const { host, port } = readOptions(node, inside(place, name), NODE);
    const text_ = text(host, inside(place, name), "host");
    if (text_ === undefined) throw refuse(host, inside(place, name), "host", "string", "a non-empty string");
    const number = integer(undefinedOr(port, 6379), inside(place, name), "port", { min: 1, max: 65_535 });
    return checkUrl(`redis://${text_.includes(":") ? `[${text_}]` : text_}:${number}`, place, name);
  });
}

function resolveClientName(value: unknown, place: Place): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && /^[!-~]+$/.test(value)) return value;
  throw refuse(value, place, "clientName", "string", "printable ASCII without spaces");
}

function resolveReconnect(value: unknown, place: Place): ResolvedRedisClientOptions["reconnect"] {
  const given = readOptions(undefinedOr(value, {}), place, RECONNECT);
  const baseDelayMs = timeoutMs(undefinedOr(given.baseDelayMs, 50), place, "baseDelayMs");
  const maxDelayMs = timeoutMs(undefinedOr(given.maxDelayMs, 2000), place, "maxDelayMs");
  if (maxDelayMs < baseDelayMs) {
    const option = `${place.path}maxDelayMs`;
    throw invalid(
      RangeError,
      place,
      option,
      `${option} (${maxDelayMs}) must not be below baseDelayMs (${baseDelayMs})`,
    );
  }
  return { baseDelayMs, maxDelayMs };
}

function resolveTls(value: unknown, place: Place, url: string): ResolvedTls | undefined {
  if (value === undefined) return undefined;
  const at = inside(place, "tls");
  const { ca, cert, key, servername, rejectUnauthorized } = readOptions(value, at, TLS);
  if (url.slice(0, url.indexOf(":")).endsWith("unix")) {
    throw invalid(TypeError, place, "tls", "tls does not go with a unix socket");
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw invalid(TypeError, place, "tls.key", "tls.cert and tls.key must be given together");
  }
  return {
    ca: ca === undefined ? [] : authorities(ca, at),
    cert: cert === undefined ? undefined : pem(cert, at, "cert"),
    key: key === undefined ? undefined : pem(key, at, "key"),
    servername: serverName(servername, at),
    rejectUnauthorized: rejectUnauthorized === undefined || boolean(rejectUnauthorized, at, "rejectUnauthorized"),
  };
}

function authorities(value: unknown, place: Place): readonly (string | Uint8Array)[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  // An empty list would trust the system's roots, the opposite of what it says.
  if (list.length === 0) throw refuseSecret("", place, "ca", "at least one certificate");
  return list.map((entry) => pem(entry, place, "ca"));
}

function pem(value: unknown, place: Place, name: string): string | Uint8Array {
  if ((typeof value === "string" && value !== "") || (value instanceof Uint8Array && value.length > 0)) return value;
  throw refuseSecret(value, place, name, "PEM text or a Buffer of it");
}

function serverName(value: unknown, place: Place): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "") return value;
  throw refuse(value, place, "servername", "string", "a host name");
}
