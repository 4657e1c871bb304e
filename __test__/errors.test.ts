import { inspect } from "node:util";
import { describe, expect, it, vi } from "vitest";
import * as errors from "../lib/errors";

/** A second copy of the module, as when a process has loaded the package twice. */
async function secondCopy(): Promise<typeof errors> {
  vi.resetModules();
  return await import("../lib/errors");
}

const instances: [string, string, errors.DialCacheError | errors.SourceAttemptsError][] = [
  ["DialCacheError", "DIALCACHE_ERROR", new errors.DialCacheError("m")],
  ["RedisReadTimeoutError", "DIALCACHE_REDIS_READ_TIMEOUT", new errors.RedisReadTimeoutError("GetUser", 50)],
  ["FallbackTimeoutError", "DIALCACHE_FALLBACK_TIMEOUT", new errors.FallbackTimeoutError("GetUser", 2000)],
  [
    "UseCaseIsAlreadyRegisteredError",
    "DIALCACHE_USE_CASE_ALREADY_REGISTERED",
    new errors.UseCaseIsAlreadyRegisteredError("GetUser"),
  ],
  ["UseCaseNameIsReservedError", "DIALCACHE_USE_CASE_RESERVED", new errors.UseCaseNameIsReservedError("watermark")],
  ["DialCacheKeyError", "DIALCACHE_KEY", new errors.DialCacheKeyError("m")],
  ["DialCacheRedisPayloadError", "DIALCACHE_REDIS_PAYLOAD", new errors.DialCacheRedisPayloadError()],
  [
    "DialCacheRedisPayloadEncodingError",
    "DIALCACHE_REDIS_PAYLOAD_ENCODING",
    new errors.DialCacheRedisPayloadEncodingError(),
  ],
  ["DialCacheRedisProtocolError", "DIALCACHE_REDIS_PROTOCOL", new errors.DialCacheRedisProtocolError()],
  [
    "DialCacheRedisPlaceholderLostError",
    "DIALCACHE_REDIS_PLACEHOLDER_LOST",
    new errors.DialCacheRedisPlaceholderLostError(),
  ],
  ["DialCacheRedisError", "DIALCACHE_REDIS", new errors.DialCacheRedisError("connect", "m")],
  ["DialCacheClosedError", "DIALCACHE_CLOSED", new errors.DialCacheClosedError()],
  ["DeadlineExceededError", "DIALCACHE_DEADLINE_EXCEEDED", new errors.DeadlineExceededError(2000, "charge")],
  ["HedgeLostError", "DIALCACHE_HEDGE_LOST", new errors.HedgeLostError()],
  ["BreakerOpenError", "DIALCACHE_BREAKER_OPEN", new errors.BreakerOpenError("users")],
  ["HttpStatusError", "DIALCACHE_HTTP_STATUS", new errors.HttpStatusError("users", 1, 503)],
  ["SourceAttemptsError", "DIALCACHE_SOURCE_ATTEMPTS", new errors.SourceAttemptsError([new Error("a")], "users")],
];

type ErrorClass = abstract new (...args: never[]) => errors.DialCacheError;
const classes = errors as unknown as Record<string, ErrorClass>;

describe("every error class", () => {
  it("is in the table of this test", () => {
    expect(instances.map(([name]) => name).sort()).toEqual(Object.keys(errors).sort());
  });

  it.each(instances)("%s has its name and code %s", (name, code, error) => {
    expect(error.name).toBe(name);
    expect(error.code).toBe(code);
    expect(String(error)).toBe(`${name}: ${error.message}`);
    expect(error.stack?.startsWith(`${name}: ${error.message}`)).toBe(true);
    expect(inspect(error)).toContain(code);
    expect(Object.keys(error)).not.toContain("name");
  });

  it.each(instances)("%s is an instance of itself, its base and Error, and of no sibling", (name, _code, error) => {
    for (const [other] of instances) {
      expect(error instanceof classes[other]!, other).toBe(other === name || other === "DialCacheError");
    }
    expect(error).toBeInstanceOf(Error);
  });

  it.each(instances)("%s is one across two copies of the package, both ways", async (name, _code, error) => {
    const copy = await secondCopy();
    const copied = copy as unknown as Record<string, ErrorClass>;
    expect(copied[name]).not.toBe(classes[name]);
    for (const [other] of instances) {
      expect(error instanceof copied[other]!, other).toBe(other === name || other === "DialCacheError");
    }
    const foreign: unknown = new (copied[name] as unknown as new (...args: unknown[]) => Error)("a", "b", 1);
    expect(foreign instanceof classes[name]!).toBe(true);
    expect(foreign instanceof errors.DialCacheError).toBe(true);
  });

  it.each(instances)("%s serialises to name, message, code and its fields", (name, code, error) => {
    const json = JSON.parse(JSON.stringify(error)) as Record<string, unknown>;
    expect(json).toMatchObject({ name, code, message: error.message });
    expect(json).not.toHaveProperty("stack");
    expect(json).not.toHaveProperty("cause");
  });

  it("codes are distinct", () => {
    expect(new Set(instances.map(([, code]) => code)).size).toBe(instances.length);
  });
});

describe("instanceof", () => {
  it.each([undefined, null, 0, "text", true, 1n, Symbol("s"), {}, [], () => {}, new Error("m"), new TypeError("m")])(
    "is false for %s",
    (value) => {
      for (const [name] of instances) expect((value as unknown) instanceof classes[name]!).toBe(false);
    },
  );

  it("is false for an object that only claims a name and a code", () => {
    const claims = Object.assign(new Error("m"), { name: "DialCacheError", code: "DIALCACHE_ERROR" });
    expect(claims instanceof errors.DialCacheError).toBe(false);
  });

  it("works as usual for a user's subclasses", async () => {
    class Mine extends errors.RedisReadTimeoutError {}
    class Other extends errors.RedisReadTimeoutError {}
    const mine = new Mine("GetUser", 50);
    expect(mine instanceof Mine).toBe(true);
    expect(mine instanceof Other).toBe(false);
    expect(mine instanceof errors.RedisReadTimeoutError).toBe(true);
    expect(mine instanceof errors.FallbackTimeoutError).toBe(false);
    expect(mine instanceof errors.DialCacheError).toBe(true);
    expect(new errors.RedisReadTimeoutError("GetUser", 50) instanceof Mine).toBe(false);
    expect(({} as unknown) instanceof Mine).toBe(false);
    const copy = await secondCopy();
    expect(mine instanceof copy.RedisReadTimeoutError).toBe(true);
  });

  it("works for classes under a prototype of their own making", () => {
    class Mine extends errors.DialCacheError {
      override readonly code = "MINE";
    }
    expect(new Mine("m")).toMatchObject({ code: "MINE", message: "m" });
    expect(Object.create(Mine.prototype) instanceof Mine).toBe(true);
  });
});

describe("fields", () => {
  it("of timeouts are the use case and the deadline, and an HTTP status for the source's", () => {
    expect(new errors.RedisReadTimeoutError("GetUser", 50)).toMatchObject({ useCase: "GetUser", timeoutMs: 50 });
    const fallback = new errors.FallbackTimeoutError("GetUser", 2000);
    expect(fallback).toMatchObject({ useCase: "GetUser", timeoutMs: 2000, status: 504 });
    expect(JSON.parse(JSON.stringify(fallback))).toMatchObject({ useCase: "GetUser", timeoutMs: 2000, status: 504 });
  });

  it("of a deadline are what was given, the step, and an HTTP status", () => {
    const error = new errors.DeadlineExceededError(2000, "charge");
    expect(error).toMatchObject({ timeoutMs: 2000, step: "charge", status: 504 });
    expect(error.message).toBe('Deadline of 2000 ms was exceeded during step "charge"');
    expect(new errors.DeadlineExceededError(5, undefined).message).toBe("Deadline of 5 ms was exceeded");
  });

  it("of a source's failures are its name, and the endpoint and status of an answer", () => {
    expect(new errors.BreakerOpenError("users")).toMatchObject({ source: "users", status: 503 });
    const status = new errors.HttpStatusError("users", 1, 502);
    expect(status).toMatchObject({ source: "users", endpoint: 1, status: 502 });
  });

  it("of failed attempts are all their errors, the first one's as cause, and neither in JSON", () => {
    const first = new Error("secret");
    const all = [first, "second", undefined];
    const error = new errors.SourceAttemptsError(all, "users");
    expect(error).toBeInstanceOf(AggregateError);
    expect(error.errors).toEqual(all);
    expect(error.errors[0]).toBe(first);
    expect(error.cause).toBe(first);
    expect(error.message).toBe('All 3 attempts of source "users" failed');
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  it("of a native client's failure are its kind", () => {
    expect(new errors.DialCacheRedisError("authentication", "m")).toMatchObject({ kind: "authentication" });
  });

  it("include a cause where one was given, and no key without one", () => {
    const cause = new Error("inner");
    expect(new errors.RedisReadTimeoutError("GetUser", 50, { cause }).cause).toBe(cause);
    expect(new errors.DialCacheRedisPayloadError(undefined, { cause }).cause).toBe(cause);
    expect(Object.hasOwn(new errors.DialCacheError("m"), "cause")).toBe(false);
  });

  it("keep a use case of several lines on one", () => {
    expect(new errors.RedisReadTimeoutError("a\nb", 1).message).not.toContain("\n");
  });
});
