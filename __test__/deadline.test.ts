import { AsyncLocalStorage } from "node:async_hooks";
import { getEventListeners } from "node:events";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Deadline } from "../lib/deadline";
import { DeadlineExceededError } from "../lib/errors";
import { installClock, type ManualClock, manualClock } from "../lib/testing";
import { runScript } from "./support/child";
import { blockEventLoop, turns } from "./support/real-time";
import { failOnUnhandled } from "./support/unhandled";

failOnUnhandled();

let takeAway = (): void => {};
afterEach(() => {
  takeAway();
  takeAway = () => {};
  vi.useRealTimers();
});

function installed(): ManualClock {
  const clock = manualClock();
  takeAway = installClock(clock);
  return clock;
}

const never = (): Promise<never> => new Promise(() => {});

/** What a promise was rejected with. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable("it should reject"),
    (error: unknown) => error,
  );
}

describe("Deadline.after()", () => {
  it.each([0, -1, 1.5, 2_147_483_648, Number.NaN, Number.POSITIVE_INFINITY])("refuses %s ms", (ms) => {
    expect(() => Deadline.after(ms)).toThrow(RangeError);
    expect(() => Deadline.after(ms)).toThrow(/Deadline\.after\(\): ms must be .* from 1 to 2147483647/);
  });

  it.each([undefined, null, "50", {}])("refuses %s in place of milliseconds", (ms) => {
    expect(() => Deadline.after(ms as never)).toThrow(TypeError);
  });

  it("takes the longest time a timer can be set to", async () => {
    const clock = installed();
    const deadline = Deadline.after(2_147_483_647);
    const run = rejection(deadline.run("long", never));
    await clock.advance(2_147_483_646);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(await run).toBeInstanceOf(DeadlineExceededError);
  });

  it("counts down from when it was made, whether or not it is used", async () => {
    const clock = installed();
    const deadline = Deadline.after(100);
    expect(deadline.remainingMs()).toBe(100);
    await clock.advance(60.5);
    expect(deadline.remainingMs()).toBe(39.5);
    await clock.advance(1_000);
    expect(deadline.remainingMs()).toBe(0);
  });
});

describe("run()", () => {
  it("hands on what the step does: its value, its error by identity, a synchronous throw", async () => {
    const deadline = Deadline.after(60_000);
    const error = new Error("the step's own");
    expect(await deadline.run("a", () => 1)).toBe(1);
    expect(await deadline.run("b", async () => "two")).toBe("two");
    expect(await rejection(deadline.run("c", async () => Promise.reject(error)))).toBe(error);
    const thrown = deadline.run("d", () => {
      throw error;
    });
    expect(await rejection(thrown)).toBe(error);
  });

  it("bounds several steps together, not each", async () => {
    const clock = installed();
    const deadline = Deadline.after(100);
    const wait = (ms: number) => () => new Promise<void>((resolve) => void clock.setTimeout(resolve, ms));
    const first = deadline.run("validate", wait(60));
    await clock.advance(60);
    await first;
    const second = rejection(deadline.run("create", wait(60)));
    await clock.advance(40);
    expect(await second).toMatchObject({ timeoutMs: 100, step: "create", status: 504 });
  });

  it("aborts its signal before it rejects, with the very error", async () => {
    const clock = installed();
    const deadline = Deadline.after(50);
    const order: unknown[] = [];
    const run = deadline
      .run("step", (signal) => {
        signal.addEventListener("abort", () => order.push(signal.reason));
        return never();
      })
      .catch((error: unknown) => order.push(error));
    await clock.advance(50);
    await run;
    expect(order).toHaveLength(2);
    expect(order[0]).toBeInstanceOf(DeadlineExceededError);
    expect(order[1]).toBe(order[0]);
    expect(deadline.signal.reason).toBe(order[0]);
  });

  it("does not call the step when the time is up, noticed by a timer or not", async () => {
    const clock = installed();
    const deadline = Deadline.after(10);
    await clock.advance(10);
    const fn = vi.fn();
    expect(await rejection(deadline.run("late", fn))).toMatchObject({ step: "late", timeoutMs: 10 });
    expect(await rejection(deadline.run("later", fn))).toMatchObject({ step: "later", timeoutMs: 10 });
    expect(fn).not.toHaveBeenCalled();
    expect(deadline.signal.reason).toBeInstanceOf(DeadlineExceededError);
  });

  it.each(["resolves", "rejects"])("is a timeout when the step %s too late, though no timer fired", async (how) => {
    const deadline = Deadline.after(5);
    const late = deadline.run("parse", () => {
      blockEventLoop(10);
      if (how === "rejects") throw new Error("late");
      return "late";
    });
    expect(await rejection(late)).toMatchObject({ step: "parse", timeoutMs: 5 });
    expect(deadline.signal.aborted).toBe(true);
  });

  it("is no timeout because of an error's name", async () => {
    const deadline = Deadline.after(60_000);
    for (const name of ["TimeoutError", "AbortError", "DeadlineExceededError"]) {
      const error = Object.assign(new Error("not ours"), { name });
      expect(await rejection(deadline.run("step", () => Promise.reject(error)))).toBe(error);
    }
  });

  it("is a timeout whatever the aborted step rejects with", async () => {
    const clock = installed();
    const deadline = Deadline.after(50);
    const run = rejection(
      deadline.run("step", (signal) => {
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("AbortError"))));
      }),
    );
    await clock.advance(50);
    expect(await run).toBeInstanceOf(DeadlineExceededError);
  });

  it("ignores what a step does after the timeout", async () => {
    const clock = installed();
    const deadline = Deadline.after(50);
    let fail: (error: Error) => void = () => {};
    const run = rejection(deadline.run("step", () => new Promise((_, reject) => (fail = reject))));
    await clock.advance(50);
    await run;
    fail(new Error("nobody waits"));
    await turns(2);
  });

  it("rejects each of several pending steps with its own name", async () => {
    const clock = installed();
    const deadline = Deadline.after(50);
    const runs = ["a", "b"].map((step) => rejection(deadline.run(step, never)));
    await clock.advance(50);
    expect(await Promise.all(runs)).toMatchObject([{ step: "a" }, { step: "b" }]);
    expect(deadline.signal.reason).toMatchObject({ step: "b" });
  });

  it("re-arms a timer that fires early", async () => {
    const clock = manualClock();
    let skew = 0;
    takeAway = installClock({ ...clock, now: () => clock.now() + skew });
    const deadline = Deadline.after(50);
    let settled = false;
    const run = rejection(deadline.run("step", never)).finally(() => {
      settled = true;
    });
    skew = -5;
    await clock.advance(50);
    expect(settled).toBe(false);
    await clock.advance(5);
    expect(await run).toBeInstanceOf(DeadlineExceededError);
  });

  it.each([
    [1, () => {}, {}, /step must be a string/],
    ["step", null, {}, /fn must be a function/],
    ["step", () => {}, { sginal: 1 }, /unknown option "sginal"; did you mean "signal"/],
    ["step", () => {}, { signal: {} }, /signal must have a method/],
  ])("refuses bad arguments: %s, %s, %j", async (step, fn, options, message) => {
    const error = await rejection(Deadline.after(50).run(step as never, fn as never, options as never));
    expect(error).toMatchObject({ code: "DIALCACHE_INVALID_OPTION", message: expect.stringMatching(message) });
  });

  it("calls the step, and its listeners, in the caller's async context", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    await storage.run("mine", async () => {
      const deadline = Deadline.after(5);
      await rejection(
        deadline.run("step", (signal) => {
          seen.push(storage.getStore());
          signal.addEventListener("abort", () => seen.push(storage.getStore()));
          return never();
        }),
      );
      seen.push(storage.getStore());
    });
    expect(seen).toEqual(["mine", "mine", "mine"]);
  });
});

describe("the caller's own signal", () => {
  it("rejects a pending step with its reason, which is no timeout, and aborts the step's signal", async () => {
    const deadline = Deadline.after(60_000);
    const callers = new AbortController();
    let steps: AbortSignal | undefined;
    const run = rejection(
      deadline.run(
        "step",
        (signal) => {
          steps = signal;
          return never();
        },
        { signal: callers.signal },
      ),
    );
    const reason = { name: "TimeoutError" };
    callers.abort(reason);
    expect(await run).toBe(reason);
    expect(steps?.reason).toBe(reason);
    expect(deadline.signal.aborted).toBe(false);
  });

  it("that is aborted already keeps the step from being called", async () => {
    const fn = vi.fn();
    const run = Deadline.after(60_000).run("step", fn, { signal: AbortSignal.abort("gone") });
    expect(await rejection(run)).toBe("gone");
    expect(fn).not.toHaveBeenCalled();
  });

  it("has no listener left, however steps end", async () => {
    const clock = installed();
    const callers = new AbortController();
    const options = { signal: callers.signal };
    const deadline = Deadline.after(50);
    await deadline.run("ok", () => 1, options);
    await rejection(deadline.run("failed", () => Promise.reject(new Error("x")), options));
    const timedOut = rejection(deadline.run("timed out", never, options));
    expect(getEventListeners(callers.signal, "abort")).toHaveLength(1);
    await clock.advance(50);
    await timedOut;
    await rejection(deadline.run("spent", never, options));
    expect(getEventListeners(callers.signal, "abort")).toHaveLength(0);
  });

  it("and the deadline both end the step's signal", async () => {
    const clock = installed();
    const deadline = Deadline.after(50);
    let steps: AbortSignal | undefined;
    const run = rejection(
      deadline.run(
        "step",
        (signal) => {
          steps = signal;
          return never();
        },
        { signal: new AbortController().signal },
      ),
    );
    await clock.advance(50);
    expect(steps?.reason).toBe(await run);
  });
});

describe("signal", () => {
  it("of a deadline that was never used before its time was up is aborted", async () => {
    const clock = installed();
    const deadline = Deadline.after(50);
    await clock.advance(60);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.signal.reason).toMatchObject({ step: undefined, timeoutMs: 50 });
    expect(deadline.signal).toBe(deadline.signal);
  });

  it("of one that expired during a step without a look at it is aborted too", async () => {
    const clock = installed();
    const deadline = Deadline.after(50);
    const run = rejection(deadline.run("step", never, { signal: new AbortController().signal }));
    await clock.advance(50);
    expect(deadline.signal.reason).toBe(await run);
  });

  it("fires its listeners though nobody holds the deadline", async () => {
    const { stdout } = await runScript(`
      let fired = false;
      (() => dialcache.Deadline.after(30).signal.addEventListener("abort", () => { fired = true; }))();
      const kept = setInterval(() => {
        gc();
        if (!fired) return;
        clearInterval(kept);
        console.log("fired");
      }, 5);`);
    expect(stdout).toBe("fired\n");
  });
});

describe("the process", () => {
  it("ends while an idle deadline is left, its signal looked at or not", async () => {
    const script = `
      dialcache.Deadline.after(3_600_000).signal.addEventListener("abort", () => {});
      const used = dialcache.Deadline.after(3_600_000);
      used.run("step", async () => {}).then(() => console.log("end"));`;
    expect(await runScript(script)).toMatchObject({ code: 0, stdout: "end\n" });
  });

  it.each(["", "void deadline.signal;"])("waits for a pending step: %s", async (before) => {
    const script = `
      const deadline = dialcache.Deadline.after(40);
      ${before}
      deadline.run("step", () => new Promise(() => {})).catch(({ code, step }) => console.log(code, step));`;
    expect(await runScript(script)).toMatchObject({ code: 0, stdout: "DIALCACHE_DEADLINE_EXCEEDED step\n" });
  });
});

describe("time", () => {
  it("is monotonic: the wall clock changes nothing", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 0 });
    const deadline = Deadline.after(60_000);
    vi.setSystemTime(1e12);
    expect(deadline.remainingMs()).toBeGreaterThan(50_000);
  });

  it("under fake timers moves with an installed clock", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    takeAway = installClock();
    const run = rejection(Deadline.after(50).run("step", never));
    await vi.advanceTimersByTimeAsync(49);
    await vi.advanceTimersByTimeAsync(1);
    expect(await run).toBeInstanceOf(DeadlineExceededError);
  });
});
