/** What the compiler accepts of sources: see `__test__/types.test.ts`. */
import { describe, expectTypeOf, it } from "vitest";
import type { DialCache } from "../../lib/dialcache";
import { httpSource } from "../../lib/http-source";
import { source } from "../../lib/source";
import type { Source, SourceContext } from "../../lib/source-types";

declare function api(region: string, id: string, signal: AbortSignal): Promise<{ name: string }>;
declare const cache: DialCache;

/** Declared, never called: its body only has to compile. */
const compiles = (_body: () => unknown): void => {};

describe("types of sources", () => {
  it("arguments and result are those of the functions", () => {
    compiles(() => {
      const users = source([(ctx, id: string) => api("us", id, ctx.signal), (ctx, id) => api("eu", id, ctx.signal)], {
        name: "users",
        idempotent: true,
        timeoutMs: 2_000,
        hedge: { delayMs: "auto" },
        failover: {},
        retry: {},
        breaker: {},
      });
      expectTypeOf(users).toEqualTypeOf<Source<[id: string], { name: string }>>();
      expectTypeOf(users("1")).toEqualTypeOf<Promise<{ name: string }>>();
      expectTypeOf(users.execute({ priority: "high" }, "1")).toEqualTypeOf<Promise<{ name: string }>>();
      // @ts-expect-error an argument is missing
      users.execute({});
      // @ts-expect-error an argument of another type
      users(1);
      // @ts-expect-error a priority nobody knows
      users.execute({ priority: "urgent" }, "1");
      // @ts-expect-error what belongs to the source
      users.execute({ hedge: { quantile: 0.9 } }, "1");
      expectTypeOf(
        source((_ctx: SourceContext, id: number, deep?: boolean) => [id, deep], { name: "one" }),
      ).toEqualTypeOf<Source<[id: number, deep?: boolean], (number | boolean | undefined)[]>>();
      // @ts-expect-error a breaker has no options
      source(() => 1, { name: "one", breaker: { threshold: 1 } });
    });
  });

  it("a source stands where a function may", () => {
    compiles(() => {
      const users = source((_ctx, id: string) => ({ name: id }), { name: "users" });
      const options = { keyType: "user_id", useCase: "GetUser", priority: "high" } as const;
      const getUser = cache.cached(users, { ...options, cacheKey: (id) => id });
      expectTypeOf(getUser).toEqualTypeOf<(id: string) => Promise<{ name: string }>>();
      const dates = source(() => new Date(), { name: "dates" });
      // @ts-expect-error JSON cannot carry a Date
      cache.cached(dates, { ...options, cacheKey: () => "1" });
      const all = source(() => "all", { name: "all" });
      expectTypeOf(cache.getOrLoad(all, { ...options, key: "1" })).toEqualTypeOf<Promise<string>>();
    });
  });

  it("an HTTP source has the arguments of its functions, and resolves with a Response", () => {
    compiles(() => {
      const endpoints = ["https://us.example", "https://eu.example"];
      const users = httpSource({ name: "users", endpoints, path: (id: string) => `/${id}`, headers: (id) => ({ id }) });
      expectTypeOf(users).toEqualTypeOf<Source<[id: string], Response>>();
      expectTypeOf(httpSource({ name: "health", endpoints, path: "/health" })).toEqualTypeOf<Source<[], Response>>();
    });
  });
});
