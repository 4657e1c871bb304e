import { describe, expect, it } from "vitest";
import { httpSource } from "../../lib/http-source";
import { source } from "../../lib/source";
import { rejection } from "../support/sources";

function thrownBy(run: () => unknown): Error & { code?: string; option?: string } {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

type Refused = readonly [path: string, values: readonly unknown[], option?: string];

const LARGE = 2_147_483_648;
const notNumbers = [null, "5", 5n, true, {}, [5], () => 5];
const notTimes = [...notNumbers, 0, -1, Number.NaN, Number.POSITIVE_INFINITY, LARGE];
const notTimeouts = [...notTimes, 1.5];
const notCounts = [...notNumbers, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY];
const notBooleans = [null, 0, 1, "true", {}];
const notFunctions = [null, "fn", 1, {}, []];
const notObjects = [null, true, 1, "text", [], () => {}];

/** What every source refuses. */
const policies: readonly Refused[] = [
  ["priority", [null, 1, "", "urgent", "High"]],
  ["timeoutMs", notTimeouts],
  ["hedge", notObjects],
  ["hedge.delayMs", [null, "soon", true, {}, 0, -1, Number.NaN, LARGE]],
  ["hedge.delay", [5], "hedge.delay"],
  ["hedge.initialDelayMs", notTimes],
  ["hedge.maxHedges", notCounts],
  ["hedge.cancelLoser", notBooleans],
  ["failover", notObjects],
  ["failover.policy", [null, 1, "", "roundrobin", "Sequential"]],
  ["failover.failOnStatuses", [null, 503, "503", {}]],
  ["failover.failOnStatuses", [[99], [600], [503.5], ["503"]], "failover.failOnStatuses[0]"],
  ["failover.respectCircuitBreaker", notBooleans],
  ["failover.statuses", [[]]],
  ["retry", notObjects],
  ["retry.maxAttempts", notCounts],
  ["retry.baseDelayMs", [...notNumbers, -1, Number.NaN, LARGE]],
  ["retry.maxDelayMs", [...notNumbers, -1, Number.NaN, LARGE]],
  ["retry.isTransient", notFunctions],
  ["retry.attempts", [1]],
];

const ofSource: readonly Refused[] = [
  ...policies,
  ["name", [undefined, null, "", 1, {}]],
  ["idempotent", notBooleans],
  ["hedge.quantile", [...notNumbers, 0, 1, -0.5, 1.5, Number.NaN]],
  ["hedge.windowMs", notTimes],
  ["hedge.minSamples", notCounts],
  ["hedge.minDelayMs", notTimes],
  ["hedge.budget", notObjects],
  ["hedge.budget.ratio", [...notNumbers, 0, -0.1, 0.150001, 0.6, 1, Number.NaN]],
  ["hedge.budget.burst", notCounts],
  ["hedge.budget.tokens", [1]],
  ["hedge.gate", notFunctions],
  ["hedge.maxInFlight", notCounts],
  ["breaker", notObjects],
  ["breaker.threshold", [0.5]],
  ["metrics", [null, "statsd", {}]],
  ["onHedge", notFunctions],
  ["onFailover", notFunctions],
  ["onRetry", notFunctions],
  ["onWinner", notFunctions],
  ["hedging", [{}]],
];

const ofCall: readonly Refused[] = [
  ...policies,
  ["signal", [null, 1, {}, { addEventListener: () => {} }]],
  ["deadline", [null, 50, {}]],
  ["hedge.budget", [{ ratio: 0.05 }], "hedge.budget.ratio"],
  ["hedge.quantile", [0.99]],
  ["hedge.windowMs", [1_000]],
  ["hedge.minSamples", [10]],
  ["hedge.minDelayMs", [10]],
  ["hedge.maxInFlight", [10]],
  ["hedge.gate", [() => true]],
  ["breaker", [{}]],
  ["name", ["other"]],
];

function withOption(base: Record<string, unknown>, [name, ...rest]: string[], value: unknown): Record<string, unknown> {
  const inner = (base[name!] ?? {}) as Record<string, unknown>;
  return { ...base, [name!]: rest.length === 0 ? value : withOption(inner, rest, value) };
}

function rows(refused: readonly Refused[], base: Record<string, unknown>) {
  return refused.flatMap(([path, values, option = path]) => {
    return values.map((value) => ({
      title: `${path}: ${typeof value === "bigint" ? `${value}n` : (JSON.stringify(value) ?? String(value))}`,
      option,
      options: withOption(base, path.split("."), value),
    }));
  });
}

const BASE = { name: "users", idempotent: true };
const fn = (): number => 1;

function expectRefusal(error: unknown, api: string, option: string): void {
  expect(error).toMatchObject({ code: "DIALCACHE_INVALID_OPTION", option });
  expect((error as Error).message).toContain(`${api}: `);
  expect((error as Error).message).toContain(option);
  expect(error instanceof TypeError || error instanceof RangeError).toBe(true);
}

describe("source()", () => {
  it.each(rows(ofSource, BASE))("refuses $title", ({ option, options }) => {
    expectRefusal(
      thrownBy(() => source(fn, options as never)),
      "source()",
      option,
    );
  });

  it.each(["hedge", "failover", "retry"])("refuses %s without idempotent: true", (policy) => {
    for (const idempotent of [undefined, false]) {
      const error = thrownBy(() => source(fn, { name: "users", idempotent, [policy]: {} }));
      expectRefusal(error, "source()", policy);
      expect(error.message).toMatch(/idempotent: true/);
    }
    expect(() => source(fn, { name: "users", idempotent: true, [policy]: {} })).not.toThrow();
    expect(() => source(fn, { name: "users", [policy]: false })).not.toThrow();
  });

  it.each([
    ["delayMs", { delayMs: 50 }],
    ["initialDelayMs", { initialDelayMs: 60 }],
  ])("refuses a hedge's %s beyond the timeout", (name, hedge) => {
    const error = thrownBy(() => source(fn, { ...BASE, timeoutMs: 50, hedge }));
    expectRefusal(error, "source()", `hedge.${name}`);
    expect(error.message).toContain("50");
  });

  it("refuses a first backoff above the longest", () => {
    const error = thrownBy(() => source(fn, { ...BASE, retry: { baseDelayMs: 100, maxDelayMs: 50 } }));
    expectRefusal(error, "source()", "retry.baseDelayMs");
  });

  it.each([
    [[], RangeError, "functions"],
    [undefined, TypeError, "functions"],
    ["fn", TypeError, "functions"],
    [[fn, 1], TypeError, "functions[1]"],
    [[null], TypeError, "functions[0]"],
  ])("refuses %s in place of functions", (functions, errorClass, option) => {
    const error = thrownBy(() => source(functions as never, { name: "users" }));
    expectRefusal(error, "source()", option);
    expect(error).toBeInstanceOf(errorClass);
  });

  it("names the nearest known option", () => {
    expect(thrownBy(() => source(fn, { ...BASE, hegde: {} } as never)).message).toMatch(/did you mean "hedge"/);
    const nested = thrownBy(() => source(fn, { ...BASE, hedge: { maxHedge: 1 } } as never));
    expect(nested.message).toMatch(/did you mean "hedge.maxHedges"/);
  });

  it("takes a ratio of 0.15, and everything at once", () => {
    expect(() =>
      source([fn, fn], {
        name: "users",
        idempotent: true,
        priority: "high",
        timeoutMs: 2_000,
        hedge: {
          delayMs: "auto",
          quantile: 0.95,
          windowMs: 30_000,
          minSamples: 50,
          minDelayMs: 0.5,
          initialDelayMs: 100,
          maxHedges: 2,
          cancelLoser: false,
          budget: { ratio: 0.15, burst: 5 },
          gate: () => true,
          maxInFlight: 100,
        },
        failover: { policy: "random", failOnStatuses: [503], respectCircuitBreaker: false },
        retry: { maxAttempts: 4, baseDelayMs: 10, maxDelayMs: 100, isTransient: () => false },
        breaker: {},
        metrics: { request: () => {} } as never,
        onHedge: () => {},
        onFailover: () => {},
        onRetry: () => {},
        onWinner: () => {},
      }),
    ).not.toThrow();
  });
});

describe("execute()", () => {
  it.each(rows(ofCall, {}))("refuses $title, as a rejection", async ({ option, options }) => {
    let calls = 0;
    const users = source(() => ++calls, { name: "users", idempotent: true });
    expectRefusal(await rejection(users.execute(options as never)), "execute()", option);
    expect(calls).toBe(0);
    expect(users.stats().pending).toBe(0);
  });

  it.each(["hedge", "failover", "retry"])("refuses %s of a source that is not idempotent", async (policy) => {
    const users = source(fn, { name: "users" });
    expectRefusal(await rejection(users.execute({ [policy]: {} })), "execute()", policy);
  });

  it.each([null, 1, "high", [], () => {}])("refuses %s in place of options", async (options) => {
    const error = await rejection(source(fn, { name: "users" }).execute(options as never));
    expect(error).toBeInstanceOf(TypeError);
  });
});

describe("httpSource()", () => {
  const HTTP = { name: "users", endpoints: ["http://127.0.0.1:1"] };
  const ofHttp: readonly Refused[] = [
    ["name", [undefined, ""]],
    ["endpoints", [undefined, null, "http://a", {}, []]],
    [
      "endpoints",
      [[1], [null], ["a.example"], ["ftp://a.example"], ["http://u:p@a"], ["http://a?b=1"], ["http://a#b"]],
      "endpoints[0]",
    ],
    ["method", [null, 1, "", "G ET"]],
    ["path", [null, 1, {}]],
    ["body", [new ReadableStream(), (async function* () {})()]],
    ["beforeSend", notFunctions],
    ["failOnStatuses", [null, 503, "503"]],
    ["failOnStatuses", [[99], [1.5]], "failOnStatuses[0]"],
    ["url", ["http://a"]],
    ["timeoutMs", [0]],
  ];

  it.each(rows(ofHttp, HTTP))("refuses $title", ({ option, options }) => {
    expectRefusal(
      thrownBy(() => httpSource(options as never)),
      "httpSource()",
      option,
    );
  });

  it("does not quote a URL that may hold a password", () => {
    for (const endpoint of ["http://u:hunter2@a.example", "redis://u:hunter2@a.example"]) {
      expect(thrownBy(() => httpSource({ name: "users", endpoints: [endpoint] })).message).not.toContain("hunter2");
    }
  });

  it.each(["GET", "HEAD", "get", undefined])("%s is idempotent", (method) => {
    expect(() => httpSource({ ...HTTP, method, hedge: {} })).not.toThrow();
  });

  it.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])("%s needs idempotent: true", (method) => {
    expectRefusal(
      thrownBy(() => httpSource({ ...HTTP, method, hedge: {} })),
      "httpSource()",
      "hedge",
    );
    expect(() => httpSource({ ...HTTP, method, idempotent: true, hedge: {} })).not.toThrow();
  });

  it("idempotent: false is believed, of GET too", () => {
    expectRefusal(
      thrownBy(() => httpSource({ ...HTTP, idempotent: false, retry: {} })),
      "httpSource()",
      "retry",
    );
  });
});
