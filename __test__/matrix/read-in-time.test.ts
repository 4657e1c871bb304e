import { describe, expect, it, vi } from "vitest";
import { until } from "../support/real-time";
import { RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);
  // A healthy server on a busy machine: the deadline is not what these tests are about.
  const healthy = { readTimeoutMs: 10_000 };

  describe("Remote hit and miss before the deadline preserve existing behavior and clean up the timer", () => {
    it("hit", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source);
      await world.plant("GetUser", "1", '{"name":"redis"}');
      expect(await load("1")).toEqual({ name: "redis" });
      expect(source).not.toHaveBeenCalled();
      expect(world.cache.stats().timers.armed).toBe(0);
      expect(world.stats("GetUser")).toMatchObject({ readDeadlinesArmed: 1, readTimeouts: 0, sourceCalls: 0 });
      expect(world.stats("GetUser").hits.remote).toBe(1);
      expect(await world.calls("set")).toBe(0);
      expect(world.metrics.count("request", { layer: "remote" })).toBe(1);
      expect(world.metrics.count("miss", { layer: "remote" })).toBe(0);
      expect(world.log.warnings).toEqual([]);
    });

    it("miss", async () => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source, { fallbackTimeoutMs: null });
      expect(await load("1")).toBe("source");
      expect(source).toHaveBeenCalledTimes(1);
      await world.written();
      expect(world.cache.stats().timers.armed).toBe(0);
      expect(world.stats("GetUser")).toMatchObject({ readDeadlinesArmed: 1, readTimeouts: 0, sourceCalls: 1 });
      expect(world.stats("GetUser").misses.remote).toBe(1);
      expect(await world.stored("GetUser", "1")).toMatchObject({ payload: '"source"' });
      expect(world.metrics.count("request", { layer: "remote" })).toBe(1);
      expect(world.metrics.count("miss", { layer: "remote" })).toBe(1);
      expect(world.log.warnings).toEqual([]);
    });

    it("the deadline's passing afterwards changes nothing", async () => {
      const world = await rig.world({ readTimeoutMs: rig.driven ? 50 : 5_000 });
      const load = world.load("GetUser", async () => "source");
      await world.plant("GetUser", "1", '"redis"');
      expect(await load("1")).toBe("redis");
      await world.lapse(1_000);
      expect(await load("1")).toBe("redis");
      expect(world.stats("GetUser").readTimeouts).toBe(0);
      expect(world.log.lines).toEqual([]);
    });
  });

  describe("Normal misses and serializer-load refreshes still write Redis", () => {
    it("a miss writes with the remote TTL", async () => {
      const world = await rig.world(healthy);
      const load = world.load("GetUser", async () => ({ name: "source" }));
      await load("1");
      await world.written();
      expect(await world.stored("GetUser", "1")).toMatchObject({ payload: '{"name":"source"}' });
      const ttl = Number(await world.server.command("PTTL", world.key("GetUser", "1")));
      expect(ttl).toBeGreaterThan(0);
      expect(ttl).toBeLessThanOrEqual(60_000);
      expect(await world.calls("set")).toBe(1);
      expect(world.stats("GetUser").writes).toMatchObject({ ok: 1, failed: 0 });
    });

    it.each([
      ["a payload that is not JSON", "{not json"],
      ["a truncated payload", '{"name":"red'],
      ["an empty payload", ""],
      ["a corrupt compressed payload", Buffer.from([1, 2, 3, 4])],
    ])("%s is replaced", async (_case, payload) => {
      const world = await rig.world(healthy);
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source);
      await world.plant("GetUser", "1", payload);
      expect(await load("1")).toBe("source");
      expect(source).toHaveBeenCalledTimes(1);
      await world.written();
      expect(await world.stored("GetUser", "1")).toMatchObject({ payload: '"source"' });
      expect(world.metrics.count("error", { error: "cache_read" })).toBe(0);
      expect(world.metrics.count("error", { error: "serialization_load", layer: "remote", inFallback: false })).toBe(1);
      expect(world.stats("GetUser").readTimeouts).toBe(0);
      expect(await load("1")).toBe("source");
      expect(source).toHaveBeenCalledTimes(1);
    });

    it.each([
      [
        "throws",
        () => {
          throw new Error("cannot load");
        },
      ],
      ["rejects", () => Promise.reject(new Error("cannot load"))],
    ])("a serializer whose load %s refreshes the payload", async (_case, fail) => {
      const world = await rig.world(healthy);
      let broken = true;
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source, {
        serializer: { dump: (value) => String(value), load: (payload) => (broken ? fail() : String(payload)) },
      });
      await world.plant("GetUser", "1", "rejected");
      expect(await load("1")).toBe("source");
      await world.written();
      expect(await world.stored("GetUser", "1")).toMatchObject({ payload: "source" });
      expect(world.metrics.count("error", { error: "serialization_load" })).toBe(1);
      expect(world.metrics.count("error", { error: "cache_read" })).toBe(0);
      broken = false;
      expect(await load("1")).toBe("source");
      expect(source).toHaveBeenCalledTimes(1);
    });

    it.each([
      ["short", Buffer.from([1, 0, 0])],
      ["empty", Buffer.alloc(0)],
      ["of another version", Buffer.concat([Buffer.from([2]), Buffer.alloc(9), Buffer.from('"x"')])],
      ["a placeholder", Buffer.concat([Buffer.from([0]), Buffer.alloc(9), Buffer.from('"x"')])],
    ])("a frame that is %s is a miss and replaced", async (_case, bytes) => {
      const world = await rig.world(healthy);
      const load = world.load("GetUser", async () => "source");
      await world.server.command("SETEX", world.key("GetUser", "1"), 600, bytes);
      expect(await load("1")).toBe("source");
      await world.written();
      expect(await world.stored("GetUser", "1")).toMatchObject({ payload: '"source"' });
      expect(world.metrics.events.filter(({ method }) => method === "error")).toEqual([]);
      expect(world.log.warnings).toEqual([]);
    });

    it("a source value is written once, however many callers it had", async () => {
      const world = await rig.world(healthy);
      const load = world.load("GetUser", async () => "source");
      await Promise.all(Array.from({ length: 20 }, () => load("1")));
      await world.written();
      await until("the write was executed", async () => (await world.calls("set")) >= 1);
      expect(await world.calls("set")).toBe(1);
    });
  });
});
