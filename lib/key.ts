import type { DialCacheKeyConfig } from "./config";
import { DialCacheKeyError } from "./errors";
import type { Serializer } from "./serializer";
import { isWellFormed } from "./text";

/** A value that has one text form. */
export type KeyScalar = string | number | bigint | boolean | null | undefined;

/** Further dimensions of a key, by name; an `undefined` one is left out. */
export type KeyArgs = Readonly<Record<string, KeyScalar>>;

/** What identifies a result within its use case. `1`, `"1"` and `1n` are the same id. */
export type CacheKeySpec =
  | string
  | number
  | bigint
  | { readonly id: string | number | bigint; readonly args?: KeyArgs | undefined };

/** A key as the core takes it. */
export interface NormalizedKey {
  readonly id: string;
  /** Empty, or `?name=value&...`: sorted and percent-encoded. */
  readonly args: string;
}

/**
 * Id and arguments of what a key selector returned.
 * @throws DialCacheKeyError when it identifies nothing, or would be confused with another key.
 */
export function normalizeKeySpec(spec: unknown): NormalizedKey {
  if (typeof spec !== "object" || spec === null) return { id: normalizeId(spec), args: "" };
  if (Array.isArray(spec) || !Object.hasOwn(spec, "id")) throw new DialCacheKeyError(`key ${ID_RULE}, got an object`);
  for (const name of Object.keys(spec)) {
    // A misspelt `args` would merge keys that differ only there.
    if (name !== "id" && name !== "args") throw new DialCacheKeyError("key has a member other than id and args");
  }
  const { id, args } = spec as { id: unknown; args?: unknown };
  return { id: normalizeId(id), args: args === undefined || args === null ? "" : encodeRecord(args) };
}

/**
 * Name and text of each argument that is not `undefined`, sorted by name (UTF-16 code units).
 * @throws DialCacheKeyError for values without a text of their own, and for ill-formed text.
 */
export function normalizeArgs(args: KeyArgs): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (const name of sortedNames(args)) {
    const value: unknown = args[name];
    if (value === undefined) continue;
    pairs.push([wellFormed(name, "an argument"), wellFormed(argText(value), "an argument")]);
  }
  return pairs;
}

/** What `new DialCacheKey()` takes. */
export interface DialCacheKeyInit {
  /** What kind of id it is. */
  readonly keyType: string;
  /** Which one. */
  readonly id: string;
  /** What is computed. */
  readonly useCase: string;
  /** Further dimensions, kept in the order given: see {@link normalizeArgs}. Default: none. */
  readonly args?: ReadonlyArray<readonly [name: string, value: string]> | undefined;
  /** Default `urn`. */
  readonly namespace?: string | undefined;
  /** Policy of the use case. Default null. */
  readonly defaultConfig?: DialCacheKeyConfig | null | undefined;
  /** Serializer of the use case. Default null. */
  readonly serializer?: Serializer<unknown> | null | undefined;
  /** Default false. */
  readonly trackForInvalidation?: boolean | undefined;
}

/** The identity of a result, as a `cacheConfigProvider` sees it. Frozen. */
export class DialCacheKey {
  /** The instance's namespace. */
  readonly namespace: string;
  /** What kind of id it is. */
  readonly keyType: string;
  /** The id as text. */
  readonly id: string;
  /** What is computed. */
  readonly useCase: string;
  /** Further dimensions, by name, as text. */
  readonly args: ReadonlyArray<readonly [name: string, value: string]>;
  /** Whether `invalidateRemote()` reaches it. */
  readonly trackForInvalidation: boolean;
  /** Encoded `namespace:keyType:id`, in braces when tracked: all results of one entity share it. */
  readonly prefix: string;
  /** The whole logical key. In Redis it is followed by `:dialcache-frame-v1`. */
  readonly urn: string;
  /** Policy of the use case. */
  readonly defaultConfig: DialCacheKeyConfig | null;
  /** Serializer of the use case. */
  readonly serializer: Serializer<unknown> | null;

  /** @throws DialCacheKeyError for ill-formed text, and for braces where a Redis Cluster hash tag forbids them. */
  constructor(init: DialCacheKeyInit) {
    this.namespace = init.namespace ?? "urn";
    this.keyType = init.keyType;
    this.id = init.id;
    this.useCase = init.useCase;
    this.args = init.args === undefined ? NO_ARGS : freezePairs(init.args);
    this.trackForInvalidation = init.trackForInvalidation ?? false;
    this.prefix = this.trackForInvalidation
      ? redisClusterHashTag(invalidationPrefix(this.namespace, this.keyType, this.id))
      : joinPrefix(this.namespace, this.keyType, this.id);
    this.urn = `${this.prefix}${encodeArgs(this.args)}#${encode(this.useCase, "useCase")}`;
    this.defaultConfig = init.defaultConfig ?? null;
    this.serializer = init.serializer ?? null;
    Object.freeze(this);
  }

  /** The whole logical key. */
  toString(): string {
    return this.urn;
  }
}

const NO_ARGS: DialCacheKey["args"] = Object.freeze([]);

function freezePairs(pairs: DialCacheKey["args"]): DialCacheKey["args"] {
  return Object.freeze(pairs.map(([name, value]) => Object.freeze([name, value] as const)));
}

/**
 * Encoded `namespace:keyType:id` of a tracked entity, without the braces of its hash tag.
 * @throws DialCacheKeyError for ill-formed text and for braces.
 */
export function invalidationPrefix(namespace: string, keyType: string, id: string): string {
  refuseBraces(namespace, "namespace");
  refuseBraces(keyType, "keyType");
  refuseBraces(id, "id");
  return joinPrefix(namespace, keyType, id);
}

/** `value` as a Redis Cluster hash tag: keys that share it share a slot. @throws DialCacheKeyError for braces in it. */
export function redisClusterHashTag(value: string): string {
  refuseBraces(value, "hash tag");
  return `{${value}}`;
}

const ID_RULE = "must be a string, a number, a bigint, or { id, args }";

function normalizeId(id: unknown): string {
  switch (typeof id) {
    case "string":
      return wellFormed(id, "id");
    case "number":
    case "bigint":
    case "boolean":
      return String(id);
    default:
      // Objects all read "[object Object]": one user would be served another's value.
      throw new DialCacheKeyError(`id of a key ${ID_RULE}, got ${id === null ? "null" : typeof id}`);
  }
}

function argText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "symbol" || typeof value === "function") {
    throw new DialCacheKeyError(`an argument of a key cannot be a ${typeof value}`);
  }
  let text: string;
  try {
    text = String(value);
  } catch (cause) {
    throw new DialCacheKeyError("an argument of a key has no text form", { cause });
  }
  if (typeof value === "object" && text.includes("[object ")) {
    throw new DialCacheKeyError("an argument of a key is an object without a text of its own");
  }
  return text;
}

function sortedNames(args: unknown): string[] {
  if (typeof args !== "object" || args === null) throw new DialCacheKeyError("args of a key must be an object");
  const names = Object.keys(args);
  // A Map or a Date has no properties to tell two of them apart.
  if (names.length === 0 && !isPlain(args)) throw new DialCacheKeyError("args of a key must be a plain object");
  return isSorted(names) ? names : names.sort();
}

/** Most records are written in order already, and sorting one costs more than the rest of the key. */
function isSorted(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index++) {
    if (names[index - 1]! > names[index]!) return false;
  }
  return true;
}

/** `encodeArgs(normalizeArgs(args))` without the pairs in between. */
function encodeRecord(args: object): string {
  let text = "";
  for (const name of sortedNames(args)) {
    const value: unknown = (args as Record<string, unknown>)[name];
    if (value !== undefined) text += encodePair(text, name, argText(value));
  }
  return text;
}

function encodeArgs(pairs: ReadonlyArray<readonly [string, string]>): string {
  let text = "";
  for (const [name, value] of pairs) text += encodePair(text, name, value);
  return text;
}

function encodePair(before: string, name: string, value: string): string {
  return `${before === "" ? "?" : "&"}${encode(name, "an argument")}=${encode(value, "an argument")}`;
}

function joinPrefix(namespace: string, keyType: string, id: string): string {
  return `${encode(namespace, "namespace")}:${encode(keyType, "keyType")}:${encode(id, "id")}`;
}

/** Text that percent-encoding leaves as it is: most ids and names, at a fraction of its cost. */
const UNRESERVED = /^[\w\-.!~*'()]*$/;

function encode(text: string, what: string): string {
  if (UNRESERVED.test(text)) return text;
  try {
    return encodeURIComponent(text);
  } catch {
    throw illFormed(what);
  }
}

function wellFormed(text: string, what: string): string {
  if (!isWellFormed(text)) throw illFormed(what);
  return text;
}

function illFormed(what: string): DialCacheKeyError {
  return new DialCacheKeyError(`${what} of a key must be well-formed text: it has an unpaired surrogate`);
}

/** @throws DialCacheKeyError when `text` has a brace, which would end or begin a hash tag elsewhere. */
export function refuseBraces(text: string, what: string): void {
  if (/[{}]/.test(text)) throw new DialCacheKeyError(`${what} of a tracked key must not contain { or }`);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
