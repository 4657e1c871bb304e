import { afterEach, describe, expect, it, vi } from "vitest";
import { type ManualClock, manualClock } from "../lib/testing";

/** A clock and a log of what fired when. */
function recording(options?: Parameters<typeof manualClock>[0]): {
  clock: ManualClock;
  log: [string, number][];
  at: (name: string, ms: number) => unknown;
} {
  const clock = manualClock(options);
  const log: [string, number][] = [];
  return { clock, log, at: (name, ms) => clock.setTimeout(() => log.push([name, clock.now()]), ms) };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("manualClock", () => {
  it("stands still, from zero, until it is advanced", async () => {
    const clock = manualClock({ wallNow: 1_000 });
    expect([clock.now(), clock.wallNow()]).toEqual([0, 1_000]);
    await clock.advance(250);
    expect([clock.now(), clock.wallNow()]).toEqual([250, 1_250]);
    await clock.advance(0.5);
    expect(clock.now()).toBe(250.5);
  });

  it("starts where it is told to", () => {
    const clock = manualClock({ now: 5, wallNow: 0 });
    expect([clock.now(), clock.wallNow()]).toEqual([5, 0]);
  });

  it.each([
    [{ start: 5 }, TypeError, /unknown option "start"/],
    [{ wallnow: 5 }, TypeError, /did you mean "wallNow"/],
    [{ now: "5" }, TypeError, /now must be a finite number/],
    [{ now: null }, TypeError, /now must be a finite number/],
    [{ wallNow: Number.NaN }, RangeError, /wallNow must be a finite number/],
  ])("refuses %j", (options, errorClass, message) => {
    expect(() => manualClock(options as never)).toThrow(errorClass);
    expect(() => manualClock(options as never)).toThrow(message);
  });

  it("fires what is due by then, in order of time and then of arming, each at its own time", async () => {
    const { clock, log, at } = recording();
    at("c", 30);
    at("a", 10);
    at("b1", 20);
    at("b2", 20);
    at("later", 31);
    await clock.advance(30);
    expect(log).toEqual([
      ["a", 10],
      ["b1", 20],
      ["b2", 20],
      ["c", 30],
    ]);
    await clock.advance(1);
    expect(log.at(-1)).toEqual(["later", 31]);
  });

  it("fires timers armed while it advances, when they are due by then", async () => {
    const { clock, log, at } = recording();
    clock.setTimeout(() => {
      at("inside", 5);
      at("at the end", 10);
      at("outside", 11);
    }, 10);
    await clock.advance(20);
    expect(log).toEqual([
      ["inside", 15],
      ["at the end", 20],
    ]);
  });

  it("lets chains of awaits, of any length, arm the next timer in between", async () => {
    const { clock, log } = recording();
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
    const work = (async () => {
      for (let step = 0; step < 3; step++) {
        await sleep(10);
        for (let tick = 0; tick < 50; tick++) await null;
        log.push([`step ${step}`, clock.now()]);
      }
    })();
    await clock.advance(100);
    expect(log).toEqual([
      ["step 0", 10],
      ["step 1", 20],
      ["step 2", 30],
    ]);
    await work;
  });

  it("lets awaits that began before it arm their timers at the old time", async () => {
    const { clock, log, at } = recording();
    void (async () => {
      await null;
      await null;
      at("armed late", 10);
    })();
    await clock.advance(10);
    expect(log).toEqual([["armed late", 10]]);
  });

  it("fires nothing that was taken back, before or while it advances", async () => {
    const { clock, log, at } = recording();
    clock.clearTimeout(at("before", 5));
    const meanwhile = at("meanwhile", 15);
    clock.setTimeout(() => clock.clearTimeout(meanwhile), 10);
    at("kept", 20);
    for (const unknown of [undefined, null, 0, {}]) clock.clearTimeout(unknown);
    await clock.advance(20);
    clock.clearTimeout(meanwhile);
    expect(log).toEqual([["kept", 20]]);
  });

  it.each([0, -5, Number.NaN])("takes a delay of %d as none: due at the next advance, not before", async (ms) => {
    const { clock, log, at } = recording();
    at("now", ms);
    expect(log).toEqual([]);
    await clock.advance(0);
    expect(log).toEqual([["now", 0]]);
  });

  it("runs immediates without being advanced, and before timers when it is", async () => {
    const { clock, log, at } = recording();
    await new Promise<void>((resolve) => clock.setImmediate(resolve));
    at("timer", 0);
    clock.setImmediate(() => log.push(["immediate", clock.now()]));
    await clock.advance(10);
    expect(log).toEqual([
      ["immediate", 0],
      ["timer", 0],
    ]);
  });

  it("runs immediates that arm immediates until none is left", async () => {
    const { clock, log } = recording();
    const again = (left: number): void => {
      log.push([String(left), clock.now()]);
      if (left > 0) clock.setImmediate(() => again(left - 1));
    };
    clock.setTimeout(() => clock.setImmediate(() => again(3)), 5);
    await clock.advance(5);
    expect(log.map(([name]) => name)).toEqual(["3", "2", "1", "0"]);
  });

  it("moves on one after the other when calls overlap", async () => {
    const { clock, log, at } = recording();
    at("a", 10);
    at("b", 20);
    await Promise.all([clock.advance(10), clock.advance(10)]);
    expect(clock.now()).toBe(20);
    expect(log).toEqual([
      ["a", 10],
      ["b", 20],
    ]);
  });

  it("may be advanced from a timer", async () => {
    const { clock, log, at } = recording();
    let inner: Promise<void> | undefined;
    clock.setTimeout(() => {
      inner = clock.advance(10);
    }, 5);
    at("later", 12);
    await clock.advance(5);
    await inner;
    expect([clock.now(), log]).toEqual([15, [["later", 12]]]);
  });

  it("rejects with what a timer throws, and goes on afterwards", async () => {
    const { clock, log, at } = recording();
    const error = new Error("timer");
    clock.setTimeout(() => {
      throw error;
    }, 5);
    at("next", 6);
    await expect(clock.advance(10)).rejects.toBe(error);
    expect(clock.now()).toBe(5);
    await clock.advance(5);
    expect(log).toEqual([["next", 6]]);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("refuses to advance by %d", async (ms) => {
    await expect(manualClock().advance(ms)).rejects.toThrow(RangeError);
  });

  it("ends with an error when a timer re-arms itself without delay", async () => {
    const clock = manualClock();
    let left = 100_500;
    const again = (): void => {
      if (left-- > 0) clock.setTimeout(again, 0);
    };
    again();
    await expect(clock.advance(0)).rejects.toThrow("re-arms itself without delay");
  });

  it("advances while fake timers own every global", async () => {
    vi.useFakeTimers({
      toFake: ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "performance", "Date"],
    });
    const { clock, log, at } = recording();
    at("a", 10);
    clock.setImmediate(() => log.push(["immediate", clock.now()]));
    await clock.advance(10);
    expect(log).toEqual([
      ["immediate", 0],
      ["a", 10],
    ]);
  });
});
