import { describe, expect, it, vi } from "vitest";
import { blockEventLoop } from "../support/real-time";
import { useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

describe("native client, real time", () => {
  const rig = useRig({ client: "native client", time: "real time" });

  it("the loop blocked for 3x the deadline with the replies already sent: 1,000 hits, no timeout", async () => {
    const world = await rig.world({ readTimeoutMs: 250 });
    const ids = Array.from({ length: 1_000 }, (_, index) => String(index));
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source);
    for (const id of ids) {
      await world.plant("GetUser", id, JSON.stringify(id));
    }
    const results = Promise.all(ids.map((id) => load(id)));
    blockEventLoop(750);
    expect(await results).toEqual(ids);
    expect(source).not.toHaveBeenCalled();
    expect(world.stats("GetUser").readTimeouts).toBe(0);
  });

  it("a loop that stalls again and again does not turn replies in time into timeouts", async () => {
    const world = await rig.world({ readTimeoutMs: 50 });
    await world.plant("GetUser", "1", '"redis"');
    const source = vi.fn(async () => "source");
    const load = world.load("GetUser", source);
    for (let round = 0; round < 10; round += 1) {
      const result = load("1");
      blockEventLoop(70);
      expect(await result).toBe("redis");
    }
    expect(source).not.toHaveBeenCalled();
  });

  it("a frozen server's timeouts are delivered behind the stall, and the source runs once each", async () => {
    const world = await rig.world({ readTimeoutMs: 30 });
    const source = vi.fn(async (id: string) => id);
    const load = world.load("GetUser", source);
    await world.server.freeze();
    const ids = Array.from({ length: 100 }, (_, index) => String(index));
    const results = Promise.all(ids.map((id) => load(id)));
    blockEventLoop(100);
    expect(await results).toEqual(ids);
    expect(source).toHaveBeenCalledTimes(100);
    expect(world.stats("GetUser").readTimeouts).toBe(100);
  });
});
