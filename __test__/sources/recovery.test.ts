import { describe, expect, it, vi } from "vitest";
import { BreakerOpenError, SourceAttemptsError } from "../../lib/errors";
import { source } from "../../lib/source";
import type { FailoverOptions, RetryOptions, SourceOptions } from "../../lib/source-types";
import type { ManualClock } from "../../lib/testing";
import { connectionError, rejection, soon, stage, state, useManualClock } from "../support/sources";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();
const installed = useManualClock();

function rigged(endpoints: number, options: Partial<SourceOptions>) {
  const staged = stage(endpoints);
  const users = source(staged.fns, { name: "users", idempotent: true, ...options });
  return { ...staged, users };
}

/** Where calls whose every attempt fails go, one call after the other. */
async function ways(endpoints: number, failover: FailoverOptions, calls: number, attempts = endpoints) {
  const rig = rigged(endpoints, { failover, retry: { maxAttempts: attempts, baseDelayMs: 0 } });
  const all: number[][] = [];
  for (let call = 0; call < calls; call += 1) {
    rig.attempts.length = 0;
    const failed = rejection(rig.users.execute({}));
    for (let at = 0; at < attempts; at += 1) {
      rig.attempts[at]?.reject(connectionError());
      await soon();
    }
    await failed;
    all.push(rig.attempts.map(({ endpoint }) => endpoint));
  }
  return all;
}

describe("failover", () => {
  it("goes to the next endpoint at once, with the same arguments", async () => {
    installed();
    const onFailover = vi.fn();
    const { users, attempts, log } = rigged(3, { failover: {}, onFailover });
    const call = users.execute({}, "1");
    attempts[0]?.reject(connectionError());
    await soon();
    expect(log()).toEqual(["primary@0", "failover@1"]);
    expect(attempts[1]).toMatchObject({ args: ["1"], ctx: { attempt: 2 } });
    expect(onFailover).toHaveBeenCalledExactlyOnceWith({ source: "users", attempt: 2, from: 0, endpoint: 1 });
    attempts[1]?.resolve("eu");
    expect(await call).toBe("eu");
    expect(users.stats().attempts).toMatchObject({ primary: { error: 1 }, failover: { ok: 1 } });
  });

  it("does not follow a fatal error", async () => {
    installed();
    const { users, attempts, log } = rigged(2, { failover: {} });
    const fatal = new TypeError("no such user");
    const call = rejection(users.execute({}));
    attempts[0]?.reject(fatal);
    expect(await call).toBe(fatal);
    expect(log()).toHaveLength(1);
  });

  it("ends with the endpoints: all errors, or the only one by identity", async () => {
    installed();
    const { users, attempts } = rigged(2, { failover: {} });
    const call = rejection(users.execute({}));
    attempts[0]?.reject(connectionError());
    await soon();
    attempts[1]?.reject(connectionError());
    expect(await call).toBeInstanceOf(SourceAttemptsError);

    const single = rigged(1, { failover: {} });
    const error = connectionError();
    const alone = rejection(single.users.execute({}));
    single.attempts[0]?.reject(error);
    expect(await alone).toBe(error);
  });

  it("may be turned off, or on, by one call", async () => {
    installed();
    const { users, attempts } = rigged(2, { failover: {} });
    const error = connectionError();
    const off = rejection(users.execute({ failover: false }));
    attempts[0]?.reject(error);
    expect(await off).toBe(error);

    const other = rigged(2, {});
    const on = other.users.execute({ failover: {} });
    other.attempts[0]?.reject(error);
    await soon();
    other.attempts[1]?.resolve("eu");
    expect(await on).toBe("eu");
  });
});

describe("failover.policy", () => {
  it("sequential: in their order, each call from the first", async () => {
    installed();
    expect(await ways(3, {}, 2)).toEqual([
      [0, 1, 2],
      [0, 1, 2],
    ]);
    expect(await ways(3, { policy: "sequential" }, 1)).toEqual([[0, 1, 2]]);
  });

  it("round-robin: the others take turns, over all calls; the first is still preferred", async () => {
    installed();
    const all = await ways(4, { policy: "round-robin" }, 6, 2);
    expect(all.map(([first]) => first)).toEqual([0, 0, 0, 0, 0, 0]);
    const seconds = all.map(([, second]) => second);
    expect(seconds.slice(0, 3).sort()).toEqual([1, 2, 3]);
    expect(seconds.slice(3)).toEqual(seconds.slice(0, 3));
  });

  it("random: any order, never one endpoint twice", async () => {
    installed();
    const all = await ways(4, { policy: "random" }, 40);
    for (const way of all) expect([...way].sort()).toEqual([0, 1, 2, 3]);
    expect(new Set(all.map((way) => way.join())).size).toBeGreaterThan(2);
  });
});

describe("failover.failOnStatuses", () => {
  /** Whether an error leads to a failover. */
  async function failsOver(error: unknown, failover: FailoverOptions = {}, override?: FailoverOptions) {
    const { users, attempts, log } = rigged(2, { failover });
    const call = users.execute(override === undefined ? {} : { failover: override }).catch(() => {});
    attempts[0]?.reject(error);
    await soon();
    const went = log().length > 1;
    attempts[1]?.resolve(1);
    await call;
    return went;
  }

  it.each([500, 502, 503, 504, 522, 524])("has %s by default, wherever clients put it", async (status) => {
    installed();
    expect(await failsOver({ status })).toBe(true);
    expect(await failsOver({ statusCode: status })).toBe(true);
    expect(await failsOver({ response: { status } })).toBe(true);
    expect(await failsOver({ response: { statusCode: status } })).toBe(true);
  });

  it.each([400, 404, 429, 501, 520])("has not %s by default, but may be given it", async (status) => {
    installed();
    expect(await failsOver({ status })).toBe(false);
    expect(await failsOver({ status }, { failOnStatuses: [status] })).toBe(true);
    expect(await failsOver({ status }, {}, { failOnStatuses: [status] })).toBe(true);
  });

  it("given replaces the default", async () => {
    installed();
    expect(await failsOver({ status: 503 }, { failOnStatuses: [429] })).toBe(false);
    expect(await failsOver({ status: 503 }, { failOnStatuses: [] })).toBe(false);
  });

  it.each([
    "ECONNREFUSED",
    "ECONNRESET",
    "EPIPE",
    "ETIMEDOUT",
    "ENOTFOUND",
    "EAI_AGAIN",
    "EHOSTUNREACH",
    "UND_ERR_SOCKET",
    "UND_ERR_CONNECT_TIMEOUT",
  ])("is beside connection errors such as %s, also as a cause", async (code) => {
    installed();
    expect(await failsOver({ code })).toBe(true);
    expect(await failsOver(new TypeError("fetch failed", { cause: { code } }))).toBe(true);
  });

  it.each([
    undefined,
    null,
    "ECONNRESET",
    503,
    new Error("ECONNRESET"),
    { code: "ERR_INVALID_URL" },
    { name: "AbortError" },
    { name: "TimeoutError" },
  ])("says that %s is fatal", async (error) => {
    installed();
    expect(await failsOver(error)).toBe(false);
  });

  it("says that an error that cannot be looked at is fatal", async () => {
    installed();
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(await failsOver(proxy)).toBe(false);
  });
});

describe("retry", () => {
  it("waits with full jitter, and tells of it", async () => {
    const clock = installed();
    const onRetry = vi.fn();
    const { users, attempts, log } = rigged(1, { retry: {}, onRetry });
    const call = users.execute({});
    attempts[0]?.reject(connectionError());
    await soon();
    expect(log()).toEqual(["primary@0"]);
    await clock.advance(50);
    expect(log()).toEqual(["primary@0", "retry@0"]);
    const backoffMs: number = onRetry.mock.lastCall?.[0].backoffMs;
    expect(backoffMs).toBeGreaterThanOrEqual(0);
    expect(backoffMs).toBeLessThanOrEqual(50);
    expect(onRetry).toHaveBeenCalledExactlyOnceWith({ source: "users", attempt: 2, endpoint: 0, backoffMs });
    attempts[1]?.resolve("second");
    expect(await call).toBe("second");
    expect(users.stats().attempts.retry.ok).toBe(1);
  });

  it("ends while it waits when the caller aborts", async () => {
    const clock = installed();
    const { users, attempts, log } = rigged(1, { retry: { baseDelayMs: 1_000 } });
    const caller = new AbortController();
    const call = rejection(users.execute({ signal: caller.signal }));
    attempts[0]?.reject(connectionError());
    await soon();
    caller.abort("enough");
    expect(await call).toBe("enough");
    await clock.advance(5_000);
    expect(log()).toHaveLength(1);
    expect(users.stats()).toMatchObject({ pending: 0, timers: 0 });
  });

  it("that cannot end in time does not begin: the call fails at once, with its own error", async () => {
    installed();
    const { users, attempts } = rigged(1, { retry: { baseDelayMs: 1e9, maxDelayMs: 1e9 }, timeoutMs: 100 });
    const error = connectionError();
    const call = rejection(users.execute({}));
    attempts[0]?.reject(error);
    expect(await call).toBe(error);
  });
});

async function retried(clock: ManualClock, retry: RetryOptions, error: unknown = connectionError()) {
  const backoffs: number[] = [];
  const { users, attempts } = rigged(1, { retry, onRetry: ({ backoffMs }) => void backoffs.push(backoffMs) });
  const call = rejection(users.execute({}));
  for (let at = 0; at < 20 && (await state(call)) === "pending"; at += 1) {
    attempts[at]?.reject(error);
    await clock.advance(100_000);
  }
  await call;
  return { count: attempts.length, backoffs };
}

describe("retry.maxAttempts", () => {
  it.each([
    [undefined, 3],
    [1, 1],
    [5, 5],
  ])("%s: %s attempts", async (maxAttempts, count) => {
    expect((await retried(installed(), { maxAttempts })).count).toBe(count);
  });

  it("counts hedges, failovers and retries together: a retry is not multiplied by a hedge", async () => {
    const clock = installed();
    const { users, attempts, log } = rigged(2, {
      retry: { maxAttempts: 4, baseDelayMs: 1 },
      failover: {},
      hedge: { delayMs: 10, maxHedges: 10 },
    });
    const call = rejection(users.execute({}));
    for (let at = 0; at < 10 && (await state(call)) === "pending"; at += 1) {
      await clock.advance(20);
      for (const { reject } of attempts) reject(connectionError());
    }
    expect(await call).toBeInstanceOf(SourceAttemptsError);
    expect(log()).toHaveLength(4);
  });

  it("of the call is before that of the source", async () => {
    const clock = installed();
    const { users, attempts } = rigged(1, { retry: { maxAttempts: 5, baseDelayMs: 0 } });
    const call = rejection(users.execute({ retry: { maxAttempts: 2 } }));
    for (let at = 0; at < 5; at += 1) {
      attempts[at]?.reject(connectionError());
      await clock.advance(1_000);
    }
    await call;
    expect(attempts).toHaveLength(2);
  });
});

describe("retry.baseDelayMs and maxDelayMs", () => {
  it("bound the waits: doubling from the one up to the other", async () => {
    const clock = installed();
    const seen: number[][] = [];
    for (let round = 0; round < 30; round += 1) {
      seen.push((await retried(clock, { maxAttempts: 6, baseDelayMs: 100, maxDelayMs: 300 })).backoffs);
    }
    const most = [0, 1, 2, 3, 4].map((at) => Math.max(...seen.map((backoffs) => backoffs[at] as number)));
    for (const [at, bound] of [100, 200, 300, 300, 300].entries()) {
      expect(most[at]).toBeLessThanOrEqual(bound);
      // Thirty draws that all stay in the lower half happen once in 10^9 runs.
      expect(most[at]).toBeGreaterThan(bound / 2);
    }
  });

  it("of 0 do not wait", async () => {
    expect((await retried(installed(), { baseDelayMs: 0 })).backoffs).toEqual([0, 0]);
  });
});

describe("retry.isTransient", () => {
  it("replaces the default, for failovers too", async () => {
    const clock = installed();
    const mine = new Error("mine");
    expect((await retried(clock, { isTransient: (error) => error === mine }, mine)).count).toBe(3);
    expect((await retried(clock, { isTransient: () => false })).count).toBe(1);
    const { users, attempts } = rigged(2, { failover: {}, retry: { isTransient: (error) => error === mine } });
    const call = users.execute({});
    attempts[0]?.reject(mine);
    await soon();
    attempts[1]?.resolve("eu");
    expect(await call).toBe("eu");
  });

  it("of the call is before that of the source", async () => {
    const mine = new Error("mine");
    const { users, attempts } = rigged(1, { retry: { baseDelayMs: 0, isTransient: () => false } });
    const call = users.execute({ retry: { isTransient: (error) => error === mine } });
    attempts[0]?.reject(mine);
    await vi.waitUntil(() => attempts.length === 2);
    attempts[1]?.resolve("again");
    expect(await call).toBe("again");
  });

  it("is not asked about the end of a loser", async () => {
    const clock = installed();
    const isTransient = vi.fn(() => true);
    const { users, attempts } = rigged(2, { hedge: { delayMs: 10 }, retry: { isTransient } });
    const call = users.execute({});
    await clock.advance(10);
    attempts[1]?.resolve("hedge");
    expect(await call).toBe("hedge");
    attempts[0]?.reject(connectionError());
    await soon();
    expect(isTransient).not.toHaveBeenCalled();
  });

  it.each<[string, () => unknown]>([
    ["throws", () => Promise.reject.call(undefined)],
    ["answers a promise", async () => true],
    ["answers a promise that rejects", () => Promise.reject(new Error("isTransient"))],
  ])("that %s makes the error fatal", async (_what, isTransient) => {
    expect((await retried(installed(), { isTransient: isTransient as () => boolean })).count).toBe(1);
  });
});

describe("breaker", () => {
  async function failTimes(rig: ReturnType<typeof rigged>, times: number): Promise<void> {
    for (let call = 0; call < times; call += 1) {
      const failed = rejection(rig.users.execute({ failover: false, retry: false }));
      rig.attempts.pop()?.reject(connectionError());
      await failed;
    }
  }

  it("opens at half of 20 calls, and then nothing is called", async () => {
    const clock = installed();
    const rig = rigged(1, { breaker: {} });
    await failTimes(rig, 19);
    expect(rig.users.stats().breakers).toEqual(["closed"]);
    await failTimes(rig, 1);
    expect(rig.users.stats().breakers).toEqual(["open"]);
    const error = await rejection(rig.users.execute({}));
    expect(error).toBeInstanceOf(BreakerOpenError);
    expect(error).toMatchObject({ source: "users", status: 503 });
    expect(rig.attempts).toHaveLength(0);
    await clock.advance(5_000);
    expect(rig.users.stats().breakers).toEqual(["half_open"]);
    const probe = rig.users.execute({});
    expect(await rejection(rig.users.execute({}))).toBeInstanceOf(BreakerOpenError);
    rig.attempts[0]?.resolve("well again");
    await probe;
    expect(rig.users.stats().breakers).toEqual(["closed"]);
  });

  it("is each endpoint's own: calls go to the next healthy one", async () => {
    installed();
    const rig = rigged(2, { breaker: {}, failover: {} });
    await failTimes(rig, 20);
    expect(rig.users.stats().breakers).toEqual(["open", "closed"]);
    const call = rig.users.execute({});
    expect(rig.log()).toEqual(["primary@1"]);
    rig.attempts[0]?.resolve(1);
    await call;
  });

  it("does not count cancelled losers", async () => {
    const clock = installed();
    const rig = rigged(2, { breaker: {}, hedge: { delayMs: 10, budget: { burst: 100 } } });
    for (let call = 0; call < 25; call += 1) {
      const hedged = rig.users.execute({});
      await clock.advance(10);
      rig.attempts.pop()?.resolve(1);
      await hedged;
      rig.attempts.length = 0;
    }
    expect(rig.users.stats().breakers).toEqual(["closed", "closed"]);
  });

  it("is no hedge's: an open one denies it", async () => {
    const clock = installed();
    const rig = rigged(1, { breaker: {}, hedge: { delayMs: 10 } });
    const call = rig.users.execute({});
    const failing = Array.from({ length: 20 }, () => rejection(rig.users.execute({ hedge: false })));
    for (const { reject } of rig.attempts.slice(1)) reject(connectionError());
    await Promise.all(failing);
    await clock.advance(10);
    expect(rig.users.stats().hedges).toMatchObject({ started: 0, denied_breaker: expect.any(Number) });
    expect(rig.users.stats().hedges.denied_breaker).toBeGreaterThan(0);
    rig.attempts[0]?.resolve("slow");
    expect(await call).toBe("slow");
  });

  it("off: nothing opens", async () => {
    installed();
    const rig = rigged(1, {});
    await failTimes(rig, 40);
    expect(rig.users.stats().breakers).toEqual([]);
    const call = rig.users.execute({});
    rig.attempts[0]?.resolve(1);
    expect(await call).toBe(1);
  });
});

describe("failover.respectCircuitBreaker", () => {
  it.each([
    [undefined, [0, 2]],
    [false, [0, 1]],
  ])("%s: endpoints with an open breaker are left out or not", async (respectCircuitBreaker, way) => {
    installed();
    const rig = rigged(3, { breaker: {}, failover: { respectCircuitBreaker } });
    // Opens the second endpoint's: every call fails at the first, then there.
    const fail = async (): Promise<void> => {
      rig.attempts.length = 0;
      const call = rig.users.execute({});
      rig.attempts[0]?.reject(connectionError());
      await soon();
      rig.attempts[1]?.reject(connectionError());
      await soon();
      rig.attempts[2]?.resolve("third");
      await call;
    };
    // The first endpoint answers often enough to stay closed.
    for (let call = 0; call < 25; call += 1) {
      rig.attempts.length = 0;
      const fine = rig.users.execute({});
      rig.attempts[0]?.resolve(1);
      await fine;
    }
    for (let call = 0; call < 20; call += 1) await fail();
    expect(rig.users.stats().breakers).toEqual(["closed", "open", "closed"]);
    rig.attempts.length = 0;
    const call = rig.users.execute({});
    rig.attempts[0]?.reject(connectionError());
    await soon();
    expect(rig.attempts.map(({ endpoint }) => endpoint)).toEqual(way);
    rig.attempts[1]?.resolve(1);
    await call;
  });
});

describe("priority", () => {
  const presets = [
    ["high", 8_000, 120, 5],
    ["normal", 15_000, 200, 4],
    ["low", 25_000, 350, 2],
  ] as const;

  it.each(presets)("%s: a timeout of %s ms", async (priority, timeoutMs) => {
    const clock = installed();
    for (const rig of [rigged(1, { priority }), rigged(1, {})]) {
      const call = rejection(rig.users.execute({ priority }));
      await clock.advance(timeoutMs - 1);
      expect(await state(call)).toBe("pending");
      await clock.advance(1);
      expect(await call).toMatchObject({ timeoutMs });
    }
  });

  it.each(presets)("%s: hedges after %s: %s ms", async (priority, _timeoutMs, delayMs) => {
    const clock = installed();
    const { users, attempts, log } = rigged(2, { hedge: {}, priority });
    const call = users.execute({});
    await clock.advance(delayMs - 1);
    expect(log()).toHaveLength(1);
    await clock.advance(1);
    expect(log()).toHaveLength(2);
    attempts[0]?.resolve(1);
    await call;
  });

  it.each(presets)("%s: %s %s %s attempts", async (priority, _timeoutMs, _delayMs, most) => {
    const clock = installed();
    const { users, attempts } = rigged(1, { retry: { baseDelayMs: 0 } });
    const call = rejection(users.execute({ priority }));
    for (let at = 0; at < 10; at += 1) {
      attempts[at]?.reject(connectionError());
      await clock.advance(1);
    }
    await call;
    expect(attempts).toHaveLength(most);
  });

  it("none named, none applied; and it turns no policy on", async () => {
    const clock = installed();
    const plain = rigged(2, {});
    const forEver = plain.users.execute({});
    const urgent = rejection(plain.users.execute({ priority: "high" }));
    await clock.advance(7_999);
    expect(plain.log()).toEqual(["primary@0", "primary@0"]);
    await clock.advance(100_000);
    expect(await state(forEver)).toBe("pending");
    expect(await urgent).toMatchObject({ timeoutMs: 8_000 });
    plain.attempts[0]?.resolve(1);
    await forEver;
  });

  it("is behind what the call names, and that is before the source", async () => {
    const clock = installed();
    const { users, attempts, log } = rigged(2, { priority: "low", timeoutMs: 500, hedge: { delayMs: 100 } });
    const call = rejection(users.execute({ priority: "high" }));
    await clock.advance(99);
    expect(log()).toHaveLength(1);
    await clock.advance(1);
    expect(log()).toHaveLength(2);
    await clock.advance(400);
    expect(await call).toMatchObject({ timeoutMs: 500 });
    const other = rejection(users.execute({ priority: "high", timeoutMs: 400, hedge: { delayMs: 50 } }));
    await clock.advance(50);
    expect(log()).toHaveLength(4);
    await clock.advance(350);
    expect(await other).toMatchObject({ timeoutMs: 400 });
    expect(attempts).toHaveLength(4);
  });

  it("of the call is before that of the source", async () => {
    const clock = installed();
    const { users } = rigged(1, { priority: "low" });
    const call = rejection(users.execute({ priority: "high" }));
    await clock.advance(8_000);
    expect(await call).toMatchObject({ timeoutMs: 8_000 });
  });
});
