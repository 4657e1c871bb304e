import { describe, expect, it, vi } from "vitest";
import { deferred } from "../support/deferred";
import { until } from "../support/real-time";
import { errorOf } from "../support/recorders";
import { RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  it("A never-settling read times out, starts one fallback, and clears the process flight after the fallback settles", async () => {
    const world = await rig.world();
    const gate = deferred<string>();
    const source = vi.fn(() => gate.promise);
    const load = world.load("GetUser", source);
    await world.server.freeze();

    const result = load("1");
    await world.readStarted("GetUser");
    if (rig.driven) {
      await world.lapse(world.readTimeoutMs - 1);
      expect(source).not.toHaveBeenCalled();
    }
    await world.lapse(1);
    await until("the source starts", () => source.mock.calls.length > 0);
    expect(world.flights()).toMatchObject({ activeLeaders: 1, activeFollowers: 0 });

    gate.resolve("source");
    expect(await result).toBe("source");
    expect(source).toHaveBeenCalledTimes(1);
    expect(world.flights()).toEqual({ activeLeaders: 0, activeFollowers: 0, oldestLeaderAgeMs: null });
    expect(world.cache.stats().flights).toMatchObject({ active: 0, followers: 0, lingering: 0 });
    expect(world.cache.stats().timers.armed).toBe(0);
    expect(world.stats("GetUser")).toMatchObject({ readTimeouts: 1, readDeadlinesArmed: 1, sourceCalls: 1 });
  });

  it("A never-settling read times out, and a failing fallback clears the process flight too", async () => {
    const world = await rig.world();
    const failure = new Error("source down");
    const source = vi.fn(() => Promise.reject(failure));
    const load = world.load("GetUser", source);
    await world.server.freeze();
    const result = load("1");
    const outcome = expect(result).rejects.toBe(failure);
    await world.readStarted("GetUser");
    await world.lapse();
    await outcome;
    expect(source).toHaveBeenCalledTimes(1);
    expect(world.flights().activeLeaders).toBe(0);
    expect(world.cache.stats().flights.lingering).toBe(0);
  });

  it("A retry after timeout starts a fresh Redis read and can recover", async () => {
    const world = await rig.world();
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source);
    await world.plant("GetUser", "1", '"redis"');
    await world.server.freeze();
    const first = load("1");
    await world.readStarted("GetUser");
    await world.lapse();
    expect(await first).toBe("source");

    const second = load("1");
    await world.readStarted("GetUser", 2);
    await world.lapse();
    expect(await second).toBe("source");
    expect(source).toHaveBeenCalledTimes(2);

    world.server.thaw();
    await world.lateSettled();
    expect(await load("1")).toBe("redis");
    expect(source).toHaveBeenCalledTimes(2);
    expect(world.stats("GetUser")).toMatchObject({ readDeadlinesArmed: 3, readTimeouts: 2 });
  });

  it("every key has a deadline of its own", async () => {
    const world = await rig.world();
    const source = vi.fn(async (id: string) => `source ${id}`);
    const load = world.load("GetUser", source);
    await world.server.freeze();
    const ids = Array.from({ length: 50 }, (_, index) => String(index));
    const results = Promise.all(ids.map((id) => load(id)));
    await world.readStarted("GetUser", 50);
    await world.lapse();
    expect(await results).toEqual(ids.map((id) => `source ${id}`));
    expect(source).toHaveBeenCalledTimes(50);
    expect(world.stats("GetUser").readTimeouts).toBe(50);
    expect(world.log.warnings.map(errorOf)).toEqual(Array(50).fill(expect.objectContaining({ useCase: "GetUser" })));
    expect(world.cache.stats().timers.armed).toBe(0);
  });
});
