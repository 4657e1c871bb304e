/**
 * What the compiler accepts. `tsc` checks this file: every `@ts-expect-error` is a line that must not compile. Nothing
 * here runs but the assertions' empty shells.
 */
import { describe, expectTypeOf, it } from "vitest";
import { DialCacheKeyConfig } from "../lib/config";
import type { IsJsonCompatible } from "../lib/json-type";
import type { CacheKeySpec } from "../lib/key";
import type { Logger } from "../lib/logger";
import type { DialCacheMetricsAdapter } from "../lib/metrics";
import { BufferSerializer, JsonSerializer, type Serializer, StringSerializer } from "../lib/serializer";
import type {
  AnyFunction,
  CachedFn,
  CachedOptions,
  CachedValue,
  DialCacheConfig,
  DialCacheRedisClient,
  GetOrLoadOptions,
  RedisClientOptions,
  RedisReadRequest,
} from "../lib/types";

// The signatures of the methods these types are for.
declare function cached<Fn extends AnyFunction>(fn: Fn, options: CachedOptions<Fn>): CachedFn<Fn>;
declare function getOrLoad<V>(load: () => V, options: GetOrLoadOptions<Awaited<V>>): Promise<Awaited<V>>;

const base = { keyType: "user_id", useCase: "GetUser" } as const;
const byId = { ...base, cacheKey: (id: string) => id };

/** Declared, never called: its body only has to compile. */
const compiles = (_body: () => unknown): void => {};

interface User {
  id: string;
  name?: string;
  tags: readonly string[];
  address: { city: string | null } | null;
}

interface Tree {
  value: number;
  children: Tree[];
}

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

class Money {
  constructor(readonly cents: number) {}
  format(): string {
    return String(this.cents);
  }
}

class Point {
  x = 0;
  y = 0;
}

enum Color {
  Red = "red",
  Blue = "blue",
}

type UserId = string & { readonly __brand: "UserId" };
declare const tag: unique symbol;
type Tagged = { id: string } & { readonly [tag]: "Tagged" };

describe("results JSON can carry", () => {
  it("are primitives, arrays, plain shapes and optional members", () => {
    expectTypeOf<IsJsonCompatible<string>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<number | null>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<boolean>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<"a" | "b" | 1>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<Color>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<UserId>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<Tagged>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<User>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<User[]>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<readonly [string, number]>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<Record<string, number>>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<{ a?: string | undefined }>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<Point>>().toEqualTypeOf<true>();
    // biome-ignore lint/complexity/noBannedTypes: the type of an empty literal
    expectTypeOf<IsJsonCompatible<{}>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<never[]>>().toEqualTypeOf<true>();
  });

  it("are types that contain themselves", () => {
    expectTypeOf<IsJsonCompatible<Tree>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<Json>>().toEqualTypeOf<true>();
  });

  it("are undefined and void at the top, where the serializer has a text for them", () => {
    expectTypeOf<IsJsonCompatible<undefined>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<void>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<User | undefined>>().toEqualTypeOf<true>();
    expectTypeOf<IsJsonCompatible<never>>().toEqualTypeOf<true>();
  });
});

describe("results JSON cannot carry", () => {
  it("are values with no JSON text, or one that comes back as something else", () => {
    expectTypeOf<IsJsonCompatible<Date>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<Map<string, string>>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<Set<string>>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<bigint>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<symbol>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<() => void>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<typeof Money>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<Buffer>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<Uint8Array>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<ArrayBuffer>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<RegExp>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<Money>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<unknown>>().toEqualTypeOf<false>();
    // biome-ignore lint/suspicious/noExplicitAny: the type that says nothing
    expectTypeOf<IsJsonCompatible<any>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<object>>().toEqualTypeOf<false>();
  });

  it("are shapes with one of them anywhere inside", () => {
    expectTypeOf<IsJsonCompatible<{ at: Date }>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<{ at?: Date }>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<{ a: { b: [{ c: bigint }] } }>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<Record<string, unknown>>>().toEqualTypeOf<false>();
    // biome-ignore lint/suspicious/noExplicitAny: the type that says nothing
    expectTypeOf<IsJsonCompatible<{ a: any }>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<unknown[]>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<string | Date>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<User | Money>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<{ run(): void }>>().toEqualTypeOf<false>();
  });

  it("are required members and elements that may be undefined", () => {
    expectTypeOf<IsJsonCompatible<{ a: string | undefined }>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<{ a: undefined }>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<(string | undefined)[]>>().toEqualTypeOf<false>();
    expectTypeOf<IsJsonCompatible<[string, number?]>>().toEqualTypeOf<false>();
  });
});

describe("cached()", () => {
  it("infers arguments and result from the function", () => {
    compiles(() => {
      const getUser = cached(
        async (id: string, page: number): Promise<User> => ({ id, tags: [String(page)], address: null }),
        {
          ...base,
          cacheKey: (id, page) => ({ id, args: { page } }),
        },
      );
      expectTypeOf(getUser).toEqualTypeOf<(id: string, page: number) => Promise<User>>();
      const getCount = cached((id: string) => id.length, byId);
      expectTypeOf(getCount).toEqualTypeOf<(id: string) => Promise<number>>();
    });
    expectTypeOf<CachedValue<() => Promise<Promise<string>>>>().toEqualTypeOf<string>();
  });

  it("asks for a serializer exactly when JSON will not do", () => {
    const dates: Serializer<Date> = { dump: (date) => date.toISOString(), load: (text) => new Date(String(text)) };
    const getDate = async (_id: string): Promise<Date> => new Date(0);
    compiles(() => cached(getDate, { ...byId, serializer: dates }));
    compiles(() => cached(getDate, { ...byId, serializer: new JsonSerializer<Date>() }));
    compiles(() => cached(async (id: string) => Buffer.from(id), { ...byId, serializer: new BufferSerializer() }));
    compiles(() => cached(async (id: string) => id, { ...byId, serializer: new StringSerializer() }));
    // @ts-expect-error: a Date needs a serializer
    compiles(() => cached(getDate, byId));
    // @ts-expect-error: an explicit undefined is none
    compiles(() => cached(getDate, { ...byId, serializer: undefined }));
    // @ts-expect-error: so does what JSON.parse returns
    compiles(() => cached(async (id: string) => JSON.parse(id), byId));
    // @ts-expect-error: a serializer of something else
    compiles(() => cached(getDate, { ...byId, serializer: new StringSerializer() }));
  });

  it("checks names and types of options", () => {
    const load = async (id: string): Promise<string> => id;
    compiles(() => cached(load, { ...byId, fallbackTimeoutMs: null, redisReadTimeoutMs: 50 }));
    compiles(() => cached(load, { ...byId, defaultConfig: DialCacheKeyConfig.enabled(60) }));
    // @ts-expect-error: there is no unbounded read
    compiles(() => cached(load, { ...byId, redisReadTimeoutMs: null }));
    // @ts-expect-error: cacheKey is required
    compiles(() => cached(load, base));
    // @ts-expect-error: a key is not an object of any shape
    compiles(() => cached(load, { ...base, cacheKey: (id: string) => ({ user: id }) }));
    // @ts-expect-error: a selector takes the function's arguments
    compiles(() => cached(load, { ...base, cacheKey: (id: number) => id }));
    // @ts-expect-error: a name that is not known
    compiles(() => cached(load, { ...base, cacheKey: (id: string) => id, readTimeoutMs: 50 }));
  });
});

describe("getOrLoad()", () => {
  it("infers the value, and asks for a serializer like cached()", () => {
    compiles(() => {
      expectTypeOf(getOrLoad(async () => 5, { ...base, key: 1n })).toEqualTypeOf<Promise<number>>();
      expectTypeOf(getOrLoad(() => "a", { ...base, key: { id: 1, args: { a: null } } })).toEqualTypeOf<
        Promise<string>
      >();
    });
    compiles(() => getOrLoad(async () => Buffer.alloc(1), { ...base, key: "a", serializer: new BufferSerializer() }));
    // @ts-expect-error: a Map needs a serializer
    compiles(() => getOrLoad(async () => new Map<string, string>(), { ...base, key: "a" }));
    // @ts-expect-error: key is required
    compiles(() => getOrLoad(async () => 5, base));
  });

  it("takes keys of strings, numbers, bigints and their dimensions", () => {
    expectTypeOf<{ id: string; args: { page: number; filter: undefined } }>().toExtend<CacheKeySpec>();
    expectTypeOf<boolean>().not.toExtend<CacheKeySpec>();
    expectTypeOf<undefined>().not.toExtend<CacheKeySpec>();
    expectTypeOf<{ id: string; args: { when: Date } }>().not.toExtend<CacheKeySpec>();
  });
});

describe("new DialCache()", () => {
  const client = { read: async () => null, write: async () => true, invalidate: async () => {} };
  const of = (_config: DialCacheConfig): void => {};

  it("requires the read deadline with redis, and only there", () => {
    of({});
    of({ redis: { client, readTimeoutMs: 50 } });
    of({ redis: { url: "redis://127.0.0.1", readTimeoutMs: 50, compression: false } });
    of({ redis: { readTimeoutMs: 50, compression: { level: 1 }, serializer: new JsonSerializer() } });
    // @ts-expect-error: readTimeoutMs is required
    of({ redis: { client } });
    // @ts-expect-error: null is no deadline
    of({ redis: { client, readTimeoutMs: null } });
    // @ts-expect-error: a client is already connected somewhere
    of({ redis: { client, url: "redis://127.0.0.1", readTimeoutMs: 50 } });
  });

  it("takes console, null and adapters with the hooks they have", () => {
    of({ logger: console });
    of({ logger: null });
    expectTypeOf<Console>().toExtend<Logger>();
    // @ts-expect-error: null is for loggers
    of({ metrics: null });
    // @ts-expect-error: a policy that does not exist
    of({ localPolicy: "fifo" });
    expectTypeOf<Record<"request", () => void>>().not.toExtend<DialCacheMetricsAdapter>();
  });

  it("takes clients with one-argument reads, and with synchronous answers", () => {
    const simple = {
      read: (request: RedisReadRequest) => request.valueKey,
      write: () => true,
      invalidate: () => {},
    };
    expectTypeOf(simple).toExtend<DialCacheRedisClient>();
    expectTypeOf<{
      read: () => Promise<number>;
      write: () => true;
      invalidate: () => void;
    }>().not.toExtend<DialCacheRedisClient>();
  });

  it("has native client options of its own", () => {
    const native = (_options: RedisClientOptions): void => {};
    native({});
    native({
      url: "rediss://h",
      tls: { ca: ["pem"], rejectUnauthorized: true },
      credentials: async () => ({ password: "p" }),
    });
    native({ nodes: ["redis://127.0.0.1:7000", { host: "127.0.0.1", port: 7001 }] });
    // @ts-expect-error: a node has a host
    native({ nodes: [{ port: 7000 }] });
  });
});

describe("DialCacheKeyConfig", () => {
  it("is structural, so that two copies of the package agree", () => {
    const policy: DialCacheKeyConfig = new DialCacheKeyConfig({ ttlSec: { local: 1 } });
    expectTypeOf(policy.ttlSec?.local).toEqualTypeOf<number | undefined>();
    // @ts-expect-error: the read deadline is not part of a policy
    compiles(() => new DialCacheKeyConfig({ remoteReadTimeoutMs: 50 }));
    // @ts-expect-error: a layer that does not exist
    compiles(() => new DialCacheKeyConfig({ ttlSec: { memory: 1 } }));
  });
});

describe("shadowComparator", () => {
  const getUser = async (id: string): Promise<User> => ({ id, tags: [], address: null });

  it("compares two values of the function's result, without its promise", () => {
    compiles(() => cached(getUser, { ...byId, shadowComparator: (cached, source) => cached.id === source.id }));
    compiles(() => cached(getUser, { ...byId, shadowComparator: (cached: User) => cached.tags.length > 0 }));
    compiles(() => cached(getUser, { ...byId, shadowComparator: (cached: unknown, source) => cached === source }));
    compiles(() =>
      getOrLoad(async () => 1, { ...base, key: "a", shadowComparator: (cached, source) => cached > source }),
    );
    // @ts-expect-error: a comparator of something else
    compiles(() => cached(getUser, { ...byId, shadowComparator: (cached: number) => cached > 1 }));
  });

  it("is synchronous, and answers with a boolean", () => {
    // @ts-expect-error: a promise is no answer
    compiles(() => cached(getUser, { ...byId, shadowComparator: async () => true }));
    // @ts-expect-error: nor is a number
    compiles(() => cached(getUser, { ...byId, shadowComparator: () => 1 }));
  });
});
