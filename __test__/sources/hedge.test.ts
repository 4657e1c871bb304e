import { describe, expect, it, vi } from "vitest";
import { HedgeLostError } from "../../lib/errors";
import { source } from "../../lib/source";
import type { HedgeOptions, SourceOptions } from "../../lib/source-types";
import type { ManualClock } from "../../lib/testing";
import { connectionError, soon, stage, state, useManualClock } from "../support/sources";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();
const installed = useManualClock();

function hedged(hedge: HedgeOptions, endpoints = 2, rest: Partial<SourceOptions> = {}) {
  const staged = stage(endpoints);
  const users = source(staged.fns, { name: "users", idempotent: true, hedge, ...rest });
  return { ...staged, users };
}

/** Calls one after the other, each answered after `ms` milliseconds. */
async function warm(
  clock: ManualClock,
  { users, attempts }: ReturnType<typeof hedged>,
  latencies: readonly number[],
): Promise<void> {
  // The window begins with the first look at it.
  users.stats();
  for (const ms of latencies) {
    const at = attempts.length;
    const call = users.execute({ hedge: false });
    await clock.advance(ms);
    attempts[at]?.resolve("warm");
    await call;
  }
  attempts.length = 0;
}

/** Milliseconds until a call whose first attempt never answers is hedged. */
async function delayOf(clock: ManualClock, rig: ReturnType<typeof hedged>, most = 1_000): Promise<number> {
  const at = rig.attempts.length;
  const since = clock.now();
  const call = rig.users.execute({});
  while (rig.attempts.length < at + 2 && clock.now() - since < most) await clock.advance(1);
  const waited = clock.now() - since;
  for (const { resolve } of rig.attempts.slice(at)) resolve("late");
  await call;
  return waited;
}

describe("hedge", () => {
  it("starts one more attempt at the next endpoint after the delay, and the first usable result wins", async () => {
    const clock = installed();
    const { users, attempts, log } = hedged({ delayMs: 50 }, 3);
    const call = users.execute({}, "1");
    await clock.advance(49);
    expect(log()).toEqual(["primary@0"]);
    await clock.advance(1);
    expect(log()).toEqual(["primary@0", "hedge@1"]);
    expect(attempts[1]).toMatchObject({ ctx: { attempt: 2 }, args: ["1"] });
    attempts[1]?.resolve("hedge");
    expect(await call).toBe("hedge");
    expect(attempts[0]?.ctx.signal.reason).toBeInstanceOf(HedgeLostError);
    expect(attempts[1]?.ctx.signal.aborted).toBe(false);
    await clock.advance(10_000);
    expect(log()).toHaveLength(2);
  });

  it("goes to the same endpoint when there is only one", async () => {
    const clock = installed();
    const { users, attempts, log } = hedged({ delayMs: 50 }, 1);
    const call = users.execute({});
    await clock.advance(50);
    expect(log()).toEqual(["primary@0", "hedge@0"]);
    attempts[0]?.resolve("primary");
    expect(await call).toBe("primary");
    expect(attempts[1]?.ctx.signal.reason).toBeInstanceOf(HedgeLostError);
  });

  it("does not start for an answer in time", async () => {
    const clock = installed();
    const { users, attempts, log } = hedged({ delayMs: 50 });
    const call = users.execute({});
    await clock.advance(49);
    attempts[0]?.resolve("in time");
    await call;
    await clock.advance(1_000);
    expect(log()).toEqual(["primary@0"]);
    expect(users.stats()).toMatchObject({ hedges: { started: 0 }, timers: 0 });
  });

  it("tells of itself and of the winner, and of how long the race was", async () => {
    const clock = installed();
    const onHedge = vi.fn();
    const onWinner = vi.fn();
    const { users, attempts } = hedged({ delayMs: 50 }, 2, { onHedge, onWinner });
    const call = users.execute({});
    await clock.advance(50);
    expect(onHedge).toHaveBeenCalledExactlyOnceWith({ source: "users", attempt: 2, endpoint: 1, afterMs: 50 });
    await clock.advance(7);
    attempts[0]?.resolve(1);
    await call;
    expect(onWinner).toHaveBeenCalledExactlyOnceWith({
      source: "users",
      attempt: 1,
      kind: "primary",
      endpoint: 0,
      marginMs: 7,
      losers: 1,
    });
  });

  it("is counted: started, won, lost and failed", async () => {
    const clock = installed();
    const { users, attempts } = hedged({ delayMs: 10, budget: { burst: 10 } });
    const ends: [number, "resolve" | "reject"][] = [
      [1, "resolve"],
      [0, "resolve"],
      [1, "reject"],
    ];
    for (const [which, how] of ends) {
      attempts.length = 0;
      const call = users.execute({});
      await clock.advance(10);
      attempts[which]?.[how](connectionError());
      await soon();
      attempts[0]?.resolve("at last");
      await call;
    }
    expect(users.stats()).toMatchObject({
      hedges: { started: 3, won: 1, lost: 1, failed: 1 },
      started: { primary: 3, hedge: 3 },
      attempts: { primary: { ok: 2, cancelled: 1 }, hedge: { ok: 1, cancelled: 1, error: 1 } },
      hedgeAttemptRate: 1,
      originOverhead: 1,
    });
    expect(users.stats().hedgeRaceWinRatio).toBeCloseTo(1 / 3);
  });
});

describe("hedge.delayMs", () => {
  it('"auto" is the quantile of the calls in the window', async () => {
    const clock = installed();
    const rig = hedged({ delayMs: "auto", minSamples: 20, initialDelayMs: 500 });
    await warm(clock, rig, [...Array<number>(18).fill(10), 80, 80]);
    expect(rig.users.stats().hedgeDelayMs).toBeGreaterThanOrEqual(10);
    const waited = await delayOf(clock, rig);
    expect(waited).toBeGreaterThanOrEqual(10);
    expect(waited).toBeLessThanOrEqual(82);
  });

  it('"auto" is before the delay of a priority, which is before nothing at all', async () => {
    const clock = installed();
    const rig = hedged({ delayMs: "auto", minSamples: 20 }, 2, { priority: "high" });
    await warm(clock, rig, Array<number>(20).fill(10));
    expect(rig.users.stats().hedgeDelayMs).toBeLessThan(20);
    const preset = hedged({ minSamples: 20 }, 2, { priority: "high" });
    await warm(clock, preset, Array<number>(20).fill(10));
    expect(preset.users.stats().hedgeDelayMs).toBe(120);
  });

  it("of the call is before that of the source", async () => {
    const clock = installed();
    const { users, attempts, log } = hedged({ delayMs: 50 });
    const call = users.execute({ hedge: { delayMs: 5 } });
    await clock.advance(5);
    expect(log()).toHaveLength(2);
    attempts[0]?.resolve(1);
    await call;
  });

  it("is off for a call that says so, and on for one of a source without it", async () => {
    const clock = installed();
    const { users, attempts, log } = hedged({ delayMs: 50 });
    const call = users.execute({ hedge: false });
    await clock.advance(1_000);
    expect(log()).toEqual(["primary@0"]);
    attempts[0]?.resolve(1);
    await call;

    const plain = stage(2);
    const other = source(plain.fns, { name: "users", idempotent: true });
    const second = other.execute({ hedge: { delayMs: 50 } });
    await clock.advance(50);
    expect(plain.log()).toEqual(["primary@0", "hedge@1"]);
    plain.attempts[0]?.resolve(1);
    await second;
  });
});

describe("hedge.quantile", () => {
  it("above 1 - ratio waits longer", async () => {
    const clock = installed();
    const latencies = Array.from({ length: 100 }, (_, at) => at + 1);
    const usual = hedged({ delayMs: "auto", minSamples: 50 });
    const patient = hedged({ delayMs: "auto", minSamples: 50, quantile: 0.99 });
    // The quantile is used with a full budget: both sources have paid in the same.
    for (const rig of [usual, patient]) await warm(clock, rig, latencies);
    expect(patient.users.stats().hedgeDelayMs).toBeGreaterThan(usual.users.stats().hedgeDelayMs as number);
  });

  it("below 1 - ratio is raised to it", async () => {
    const clock = installed();
    const latencies = Array.from({ length: 100 }, (_, at) => at + 1);
    const usual = hedged({ delayMs: "auto", minSamples: 50 });
    const eager = hedged({ delayMs: "auto", minSamples: 50, quantile: 0.5 });
    for (const rig of [usual, eager]) await warm(clock, rig, latencies);
    expect(eager.users.stats().hedgeDelayMs).toBe(usual.users.stats().hedgeDelayMs);
  });
});

describe("hedge.windowMs", () => {
  it("forgets what is older, and the window is idle again", async () => {
    const clock = installed();
    const rig = hedged({ delayMs: "auto", minSamples: 20, windowMs: 10_000, initialDelayMs: 500 });
    await warm(clock, rig, Array<number>(20).fill(10));
    expect(rig.users.stats().hedgeDelayMs).toBeLessThan(20);
    await clock.advance(20_000);
    expect(rig.users.stats().hedgeDelayMs).toBe(500);
    const longer = hedged({ delayMs: "auto", minSamples: 20, windowMs: 100_000, initialDelayMs: 500 });
    await warm(clock, longer, Array<number>(20).fill(10));
    await clock.advance(20_000);
    expect(longer.users.stats().hedgeDelayMs).toBeLessThan(20);
  });
});

describe("hedge.minSamples and initialDelayMs", () => {
  it("while the window knows fewer calls, the initial delay is waited, never 0", async () => {
    const clock = installed();
    const rig = hedged({ delayMs: "auto", minSamples: 20, initialDelayMs: 300 });
    await warm(clock, rig, Array<number>(19).fill(1));
    expect(await delayOf(clock, rig)).toBe(300);
    expect(rig.users.stats().hedgeDelayMs).not.toBe(300);
  });

  it("are 100 calls and 200 ms by default", async () => {
    const clock = installed();
    const rig = hedged({ delayMs: "auto" });
    expect(rig.users.stats().hedgeDelayMs).toBe(200);
    await warm(clock, rig, Array<number>(99).fill(1));
    expect(rig.users.stats().hedgeDelayMs).toBe(200);
    await warm(clock, rig, [1]);
    expect(rig.users.stats().hedgeDelayMs).toBeLessThan(3);
  });
});

describe("hedge.minDelayMs", () => {
  it.each([
    [undefined, 1],
    [25, 25],
  ])("%s: auto waits at least %s ms", async (minDelayMs, least) => {
    const clock = installed();
    const rig = hedged({ delayMs: "auto", minSamples: 20, minDelayMs });
    await warm(clock, rig, Array<number>(20).fill(0));
    expect(rig.users.stats().hedgeDelayMs).toBe(least);
  });
});

describe("hedge.maxHedges", () => {
  it.each([
    [undefined, 1],
    [2, 2],
  ])("%s: %s hedges a call at most", async (maxHedges, most) => {
    const clock = installed();
    const { users, attempts, log } = hedged({ delayMs: 10, maxHedges }, 4, { retry: { maxAttempts: 5 } });
    const call = users.execute({});
    await clock.advance(1_000);
    expect(log().filter((entry) => entry.startsWith("hedge"))).toHaveLength(most);
    attempts[0]?.resolve(1);
    await call;
  });
});

describe("hedge.cancelLoser", () => {
  it("false lets losers run on: not aborted, awaited by nobody, and counted as they end", async () => {
    const clock = installed();
    const { users, attempts } = hedged({ delayMs: 10, cancelLoser: false }, 2, { timeoutMs: 1_000 });
    for (const how of ["resolve", "reject"] as const) {
      attempts.length = 0;
      const call = users.execute({});
      await clock.advance(10);
      attempts[1]?.resolve("hedge");
      expect(await call).toBe("hedge");
      expect(attempts[0]?.ctx.signal.aborted).toBe(false);
      expect(users.stats()).toMatchObject({ pending: 1, inFlight: 1 });
      attempts[0]?.[how](new Error("late"));
      await soon();
      expect(users.stats()).toMatchObject({ pending: 0, inFlight: 0, timers: 0 });
    }
    expect(users.stats().attempts.primary).toMatchObject({ ok: 1, error: 1, cancelled: 0 });
  });

  it("false or not, the deadline ends what runs on", async () => {
    const clock = installed();
    const { users, attempts } = hedged({ delayMs: 10, cancelLoser: false }, 2, { timeoutMs: 100 });
    const call = users.execute({});
    await clock.advance(10);
    attempts[1]?.resolve("hedge");
    await call;
    await clock.advance(90);
    expect(attempts[0]?.ctx.signal.aborted).toBe(true);
    expect(users.stats()).toMatchObject({ pending: 0, timers: 0 });
  });

  it("may be said by one call", async () => {
    const clock = installed();
    const { users, attempts } = hedged({ delayMs: 10 });
    const call = users.execute({ hedge: { cancelLoser: false } });
    await clock.advance(10);
    attempts[1]?.resolve("hedge");
    await call;
    expect(attempts[0]?.ctx.signal.aborted).toBe(false);
    attempts[0]?.resolve("late");
    await soon();
  });
});

describe("hedge.budget", () => {
  /** Hedges of calls that begin together and are all late. */
  async function hedgesOf(hedge: HedgeOptions, calls: number): Promise<number> {
    const clock = installed();
    const { users, attempts, log } = hedged({ delayMs: 10, ...hedge });
    const all = Array.from({ length: calls }, () => users.execute({}));
    await clock.advance(10);
    const hedges = log().filter((entry) => entry.startsWith("hedge")).length;
    for (const { resolve } of attempts) resolve(1);
    await Promise.all(all);
    expect(users.stats().hedges.denied_budget).toBe(calls - hedges);
    return hedges;
  }

  it("starts full with 10, and each call earns a tenth", async () => {
    expect(await hedgesOf({}, 100)).toBe(10);
    const clock = installed();
    const { users, attempts } = hedged({ delayMs: 10 });
    expect(users.stats().hedgeTokens).toBe(10);
    const late = Array.from({ length: 10 }, () => users.execute({}));
    await clock.advance(10);
    for (const { resolve } of attempts.splice(0)) resolve(1);
    await Promise.all(late);
    expect(users.stats().hedgeTokens).toBeLessThan(1);
    for (let call = 0; call < 10; call += 1) {
      const quick = users.execute({});
      attempts.pop()?.resolve(1);
      await quick;
    }
    expect(users.stats().hedgeTokens).toBeGreaterThanOrEqual(1);
  });

  it("has the burst and the ratio it is given", async () => {
    expect(await hedgesOf({ budget: { burst: 3 } }, 100)).toBe(3);
    expect(await hedgesOf({ budget: { burst: 20 } }, 100)).toBe(20);
    const clock = installed();
    const { users, attempts } = hedged({ delayMs: 10, budget: { ratio: 0.05, burst: 1 } });
    const late = users.execute({});
    await clock.advance(10);
    for (const { resolve } of attempts.splice(0)) resolve(1);
    await late;
    const before = users.stats().hedgeTokens as number;
    for (let call = 0; call < 10; call += 1) {
      const quick = users.execute({});
      attempts.pop()?.resolve(1);
      await quick;
    }
    expect((users.stats().hedgeTokens as number) - before).toBeCloseTo(0.5);
  });
});

describe("hedge.gate", () => {
  it.each<[string, () => unknown, boolean]>([
    ["true", () => true, true],
    ["false", () => false, false],
    ["nothing", () => undefined, false],
    ["a promise", async () => true, false],
    ["a promise that rejects", () => Promise.reject(new Error("gate")), false],
    [
      "a throw",
      () => {
        throw new Error("gate");
      },
      false,
    ],
  ])("that answers %s lets a hedge start or not, and never ends a running attempt", async (_what, answer, starts) => {
    const clock = installed();
    let asked = 0;
    // No spy: it would handle the rejection of what it answers.
    const gate = (): boolean => {
      asked += 1;
      return answer() as boolean;
    };
    const { users, attempts, log } = hedged({ delayMs: 10, gate });
    const call = users.execute({});
    expect(asked).toBe(0);
    await clock.advance(10);
    expect(asked).toBeGreaterThan(0);
    expect(log()).toHaveLength(starts ? 2 : 1);
    expect(users.stats().hedges.denied_gate > 0).toBe(!starts);
    expect(attempts[0]?.ctx.signal.aborted).toBe(false);
    attempts[0]?.resolve("primary");
    expect(await call).toBe("primary");
  });

  it("costs no token when it denies", async () => {
    const clock = installed();
    const { users, attempts } = hedged({ delayMs: 10, gate: () => false });
    const call = users.execute({});
    await clock.advance(10);
    expect(users.stats().hedgeTokens).toBe(10);
    attempts[0]?.resolve(1);
    await call;
  });
});

describe("hedge.maxInFlight", () => {
  it("denies hedges at 80 % of it, hedges not counted", async () => {
    const clock = installed();
    const { users, attempts, log } = hedged({ delayMs: 10, maxInFlight: 5 });
    const calls = [1, 2, 3].map(() => users.execute({}));
    await clock.advance(10);
    expect(log().filter((entry) => entry.startsWith("hedge"))).toHaveLength(3);
    calls.push(users.execute({}));
    await clock.advance(10);
    expect(log().filter((entry) => entry.startsWith("hedge"))).toHaveLength(3);
    expect(users.stats()).toMatchObject({ inFlight: 4, hedges: { denied_gate: 1 } });
    for (const { resolve } of attempts) resolve(1);
    await Promise.all(calls);
  });
});

describe("a hedge whose time is up", () => {
  it("does not start", async () => {
    const clock = installed();
    const { users, attempts, log } = hedged({ delayMs: 50 });
    const call = users.execute({ timeoutMs: 40 }).catch(() => "timeout");
    await clock.advance(60);
    expect(await call).toBe("timeout");
    expect(log()).toEqual(["primary@0"]);
    expect(users.stats().hedges.denied_deadline).toBe(1);
    attempts[0]?.resolve("late");
    expect(await state(Promise.resolve())).toBe("resolved");
  });
});
