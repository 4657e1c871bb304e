import { afterEach, describe, expect, it, vi } from "vitest";
import { type Clock, installClock, installedClock } from "../lib/clock";
import { installClock as fromTesting } from "../lib/testing";

function someClock(start: number): Clock {
  return { now: () => start, wallNow: () => start, setTimeout: () => start, clearTimeout: () => {} };
}

afterEach(() => {
  vi.useRealTimers();
  expect(installedClock()).toBeUndefined();
});

describe("installClock", () => {
  it("is part of /testing", () => {
    expect(fromTesting).toBe(installClock);
  });

  it("is undone by what it returns, once", () => {
    const uninstall = installClock(someClock(1));
    expect(installedClock()?.now()).toBe(1);
    const uninstallSecond = installClock(someClock(2));
    uninstall();
    uninstall();
    expect(installedClock()?.now()).toBe(2);
    uninstallSecond();
    expect(installedClock()).toBeUndefined();
  });

  it("gives the clock before it back", () => {
    const uninstall = installClock(someClock(1));
    installClock(someClock(2))();
    expect(installedClock()?.now()).toBe(1);
    uninstall();
  });

  it("tells two installations of one clock apart", () => {
    const clock = someClock(1);
    const [first, second] = [installClock(clock), installClock(clock)];
    first();
    expect(installedClock()?.now()).toBe(1);
    second();
  });

  it("calls members on their object, as they are at the moment", () => {
    const clock = {
      time: 5,
      now() {
        return this.time;
      },
    };
    const uninstall = installClock(clock);
    expect(installedClock()?.now()).toBe(5);
    clock.time = 6;
    expect(installedClock()?.now()).toBe(6);
    clock.now = () => 7;
    expect(installedClock()?.now()).toBe(7);
    uninstall();
  });

  it.each([null, 5, "clock", { now: 5 }, { now: null }, { setTimeout: "later" }, { setImmediate: {} }])(
    "refuses %j and installs nothing",
    (clock) => {
      expect(() => installClock(clock as unknown as Clock)).toThrow(TypeError);
    },
  );
});

describe("fake timers", () => {
  const drive = (clock: Required<Clock>) => {
    const fired: string[] = [];
    clock.setTimeout(() => fired.push("timeout"), 100);
    clock.clearTimeout(clock.setTimeout(() => fired.push("cleared"), 100));
    clock.clearTimeout(undefined);
    clock.setImmediate(() => fired.push("immediate"));
    const start = { now: clock.now(), wallNow: clock.wallNow() };
    vi.advanceTimersByTime(99);
    expect(fired).toEqual(["immediate"]);
    vi.advanceTimersByTime(1);
    expect(fired).toEqual(["immediate", "timeout"]);
    return { start, end: { now: clock.now(), wallNow: clock.wallNow() } };
  };

  it.each([
    ["installed after this package was loaded", async () => import("../lib/clock"), async () => {}],
    [
      "installed before it was loaded",
      async () => {},
      async () => {
        vi.resetModules();
        return import("../lib/clock");
      },
    ],
  ])("%s drive a clock of global functions, from zero", async (_title, before, after) => {
    const early = await before();
    vi.useFakeTimers({ now: 0 });
    const late = await after();
    const { installClock, installedClock } = (early ?? late)!;
    const uninstall = installClock();
    const { start, end } = drive(installedClock()!);
    expect(start.wallNow).toBe(0);
    expect(end.wallNow).toBe(100);
    expect(end.now - start.now).toBe(100);
    uninstall();
  });

  it("drive functions that name the globals", () => {
    vi.useFakeTimers({ now: 0 });
    const uninstall = installClock({
      now: () => Date.now(),
      wallNow: () => Date.now(),
      setTimeout: (fn, ms) => setTimeout(fn, ms),
      clearTimeout: (handle) => clearTimeout(handle as NodeJS.Timeout),
      setImmediate: (fn) => setImmediate(fn),
    });
    const { start, end } = drive(installedClock()!);
    expect([start, end]).toEqual([
      { now: 0, wallNow: 0 },
      { now: 100, wallNow: 100 },
    ]);
    uninstall();
  });

  it("that are taken away leave real time behind", () => {
    vi.useFakeTimers({ now: 0 });
    const uninstall = installClock();
    vi.useRealTimers();
    expect(installedClock()?.wallNow()).toBeGreaterThan(0);
    uninstall();
  });
});
