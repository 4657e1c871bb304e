import { spawnSync } from "node:child_process";
import { getEventListeners } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { SourceAttemptsError } from "../../lib/errors";
import { source } from "../../lib/source";
import type { HedgeOptions, SourceOptions } from "../../lib/source-types";
import { connectionError, rejection, soon, stage, state, useManualClock } from "../support/sources";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();
const installed = useManualClock();

function rig(endpoints: number, options: Partial<SourceOptions>) {
  const staged = stage(endpoints);
  return { ...staged, users: source(staged.fns, { name: "users", idempotent: true, ...options }) };
}

const hedges = (log: () => string[]): number => log().filter((entry) => entry.startsWith("hedge")).length;

describe("Hedging, retries, deadlines", () => {
  it("first attempt fails while hedges are throttled: the call fails at once", async () => {
    const clock = installed();
    const { users, attempts, log } = rig(1, { timeoutMs: 60_000, hedge: { delayMs: 10, budget: { burst: 1 } } });
    const calls = [users.execute({}), rejection(users.execute({}))];
    await clock.advance(10);
    expect(hedges(log)).toBe(1);
    const error = connectionError();
    attempts[1]?.reject(error);
    expect(await calls[1]).toBe(error);
    expect(clock.now()).toBe(10);
    attempts[0]?.resolve(1);
    await calls[0];
  });

  it("a transient failure at 5 ms does not wait for the hedge delay of 500: the next attempt starts now", async () => {
    const clock = installed();
    for (const options of [{ failover: {} }, {}]) {
      const { users, attempts, log } = rig(2, { hedge: { delayMs: 500 }, ...options });
      const call = users.execute({});
      await clock.advance(5);
      attempts[0]?.reject(connectionError());
      await soon();
      expect(log()).toHaveLength(2);
      attempts[1]?.resolve("second");
      expect(await call).toBe("second");
    }
    expect(clock.now()).toBe(10);
  });

  it("the budget's ratio is exact: at 0.15, 100 calls earn 15 hedges", async () => {
    const clock = installed();
    for (const [ratio, earned] of [
      [0.15, 15],
      [0.1, 10],
      [0.03, 3],
    ] as const) {
      const { users, attempts, log } = rig(2, { hedge: { delayMs: 10, budget: { ratio, burst: 100 } } });
      const late = Array.from({ length: 200 }, () => users.execute({}));
      await clock.advance(10);
      // The burst first, and what its own calls have earned beyond it stays out.
      expect(hedges(log)).toBe(100);
      for (const { resolve } of attempts.splice(0)) resolve(1);
      await Promise.all(late);
      const before = users.stats().hedgeTokens as number;
      for (let call = 0; call < 100; call += 1) {
        const quick = users.execute({});
        attempts.pop()?.resolve(1);
        await quick;
      }
      expect((users.stats().hedgeTokens as number) - before).toBeCloseTo(earned, 6);
    }
  });

  it("low traffic and an empty window use the static delay, never the quantile of a few calls", async () => {
    const clock = installed();
    const { users, attempts } = rig(2, { hedge: { delayMs: "auto", initialDelayMs: 150 } });
    for (let call = 0; call < 50; call += 1) {
      expect(users.stats().hedgeDelayMs).toBe(150);
      const quick = users.execute({});
      attempts.pop()?.resolve(1);
      await quick;
      await clock.advance(2_000);
    }
    expect(users.stats().hedges.started).toBe(0);
  });

  it("a burst of slow calls stays within burst + ratio x primaries, in every interval", async () => {
    const clock = installed();
    const { users, attempts } = rig(2, { hedge: { delayMs: 10 } });
    const started: number[] = [];
    const primaries: number[] = [];
    const hedged = (): number => users.stats().hedges.started;
    const open: Promise<unknown>[] = [];
    for (let ms = 0; ms < 500; ms += 1) {
      const before = hedged();
      open.push(users.execute({}));
      primaries.push(ms);
      await clock.advance(1);
      for (let more = before; more < hedged(); more += 1) started.push(ms);
    }
    for (const from of started) {
      for (const to of started) {
        if (to < from) continue;
        const inside = started.filter((at) => at >= from && at <= to).length;
        const calls = primaries.filter((at) => at >= from && at <= to).length;
        expect(inside).toBeLessThanOrEqual(10 + 0.1 * calls + 1e-9);
      }
    }
    expect(started.length).toBeGreaterThan(50);
    for (const { resolve } of attempts) resolve(1);
    await Promise.all(open);
  });

  it("a quantile that asks for more hedges than the budget gives is clamped to 1 - ratio", () => {
    installed();
    const delayOf = (hedge: HedgeOptions): number | null => rig(2, { hedge }).users.stats().hedgeDelayMs;
    // Both windows are cold: what is compared with samples stands in sources/hedge.test.ts.
    expect(delayOf({ delayMs: "auto", quantile: 0.1, initialDelayMs: 70 })).toBe(70);
  });

  it("10,000 hedges leave nothing pending, and each call settles once", async () => {
    const clock = installed();
    let settled = 0;
    const { users, attempts } = rig(2, { hedge: { delayMs: 10, budget: { burst: 10_000 } }, timeoutMs: 1_000 });
    const calls = Array.from({ length: 10_000 }, () =>
      users.execute({}).then(() => {
        settled += 1;
      }),
    );
    await clock.advance(10);
    expect(users.stats()).toMatchObject({ hedges: { started: 10_000 }, pending: 10_000 });
    // Both attempts of every call answer, in either order.
    const order = [...attempts.keys()].sort((a, b) => ((a * 7_919) % 20_011) - ((b * 7_919) % 20_011));
    for (const at of order) attempts[at]?.resolve(at);
    await Promise.all(calls);
    expect(settled).toBe(10_000);
    const { pending, timers, inFlight, hedges: counted, attempts: ended } = users.stats();
    expect({ pending, timers, inFlight }).toEqual({ pending: 0, timers: 0, inFlight: 0 });
    expect(counted.won + counted.lost).toBe(10_000);
    expect(ended.primary.ok + ended.hedge.ok).toBe(10_000);
    expect(ended.primary.cancelled + ended.hedge.cancelled).toBe(10_000);
  });

  it("one timeout aborts no stranger: each attempt has a controller of its own", async () => {
    const clock = installed();
    const { users, attempts } = rig(1, {});
    const short = rejection(users.execute({ timeoutMs: 10 }));
    const long = users.execute({ timeoutMs: 1_000 });
    await clock.advance(10);
    expect(await short).toMatchObject({ timeoutMs: 10 });
    expect(attempts.map(({ ctx }) => ctx.signal.aborted)).toEqual([true, false]);
    attempts[1]?.resolve("fine");
    expect(await long).toBe("fine");
  });

  it("six failures at once after the breaker opened do not keep it open: its timer runs from the first", async () => {
    const clock = installed();
    const { users, attempts } = rig(1, { breaker: {} });
    const failed = Array.from({ length: 26 }, () => rejection(users.execute({})));
    for (const { reject } of attempts.slice(0, 20)) reject(connectionError());
    await soon();
    expect(users.stats().breakers).toEqual(["open"]);
    await clock.advance(2_000);
    for (const { reject } of attempts.slice(20)) reject(connectionError());
    await Promise.all(failed);
    await clock.advance(3_000);
    expect(users.stats().breakers).toEqual(["half_open"]);
    const probe = users.execute({});
    attempts.at(-1)?.resolve("well");
    expect(await probe).toBe("well");
    expect(users.stats().breakers).toEqual(["closed"]);
  });

  it("retries around hedges do not multiply: one counter of attempts", async () => {
    const clock = installed();
    const { users, attempts, log } = rig(2, {
      hedge: { delayMs: 10, maxHedges: 5 },
      retry: { maxAttempts: 3, baseDelayMs: 1 },
      failover: {},
    });
    const call = rejection(users.execute({}));
    for (let round = 0; round < 10 && (await state(call)) === "pending"; round += 1) {
      await clock.advance(30);
      for (const { reject } of attempts) reject(connectionError());
    }
    expect(await call).toBeInstanceOf(SourceAttemptsError);
    expect(log()).toHaveLength(3);
  });

  it("listeners on a long-lived signal go back to zero, and an abort is never reported as a timeout", async () => {
    const clock = installed();
    const { users, attempts } = rig(2, { timeoutMs: 50, hedge: { delayMs: 10 } });
    const shutdown = new AbortController();
    const { signal } = shutdown;
    const calls = Array.from({ length: 200 }, () => users.execute({ signal }).catch((error: unknown) => error));
    await clock.advance(10);
    for (const { resolve } of attempts.slice(0, 100)) resolve("ok");
    await soon();
    // One for all: Node warns of a leak from the eleventh on.
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    const reason = Object.assign(new Error("the service stops"), { name: "TimeoutError" });
    shutdown.abort(reason);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    expect((await Promise.all(calls)).filter((result) => result === reason)).toHaveLength(100);
    expect(users.stats()).toMatchObject({ pending: 0, timers: 0 });
  });

  it("AbortSignal.any is not used", () => {
    const lib = fileURLToPath(new URL("../../lib", import.meta.url));
    const { stdout } = spawnSync("grep", ["-rn", "AbortSignal.any", lib], { encoding: "utf8" });
    expect(stdout).toBe("");
  });
});

describe("A process with sources", () => {
  it("waits for a pending call, and ends by itself when only losers and idle sources are left", async () => {
    const { runScript } = await import("../support/child");
    const script = `
      const { source } = dialcache;
      const users = source([() => new Promise(() => {}), () => "hedge"], {
        name: "users", idempotent: true, timeoutMs: 3_600_000, hedge: { delayMs: 10, cancelLoser: false },
      });
      users().then((value) => console.log(value));
      source(() => new Promise(() => {}), { name: "late", timeoutMs: 30 })().catch(({ code }) => console.log(code));`;
    expect(await runScript(script)).toMatchObject({
      code: 0,
      stdout: "hedge\nDIALCACHE_DEADLINE_EXCEEDED\n",
      stderr: "",
    });
  });
});
