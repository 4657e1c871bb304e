import { describe, expect, it } from "vitest";

const { plan, drive, WAITING, HIT, LOADED, FAILED } = await import(
  new URL("../../scripts/demo/traffic.mjs", import.meta.url).href
);

const shape = { seed: 7, ratePerSec: 400, users: 5_000, exponent: 1 };

/** Runs the arrivals with a clock that stands at `nowMs`. */
function driveAt(nowMs: number, users: number[], getUser: (id: string) => Promise<unknown>, loadsEnded = () => 0) {
  const arrivals = { atMs: Float64Array.from(users, () => 0), user: Uint32Array.from(users) };
  return drive({ arrivals, durationMs: 0, drainMs: nowMs, getUser, loadsEnded, now: () => nowMs });
}

describe("the demo's traffic", () => {
  it("plans the same arrivals for the same seed, others for another", () => {
    expect(plan(shape, 10_000)).toEqual(plan(shape, 10_000));
    expect(plan({ ...shape, seed: 8 }, 10_000)).not.toEqual(plan(shape, 10_000));
  });

  it("plans arrivals in order, at the asked rate, popular users most", () => {
    const { atMs, user } = plan(shape, 60_000);
    expect([...atMs].every((at, i) => at < 60_000 && (i === 0 || at >= (atMs[i - 1] ?? 0)))).toBe(true);
    expect(atMs.length / 60).toBeGreaterThan(380);
    expect(atMs.length / 60).toBeLessThan(420);
    expect(Math.max(...user)).toBeLessThan(5_000);
    const shareOf = (rank: number) => [...user].filter((drawn) => drawn === rank).length / user.length;
    // 1 / H(5000) = 0.11 for the first, half of it for the second.
    expect(shareOf(0)).toBeCloseTo(0.11, 1);
    expect(shareOf(0)).toBeGreaterThan(shareOf(1));
  });

  it("counts a latency from the planned arrival, however late the request was sent", async () => {
    const record = await driveAt(500, [1], async (id) => ({ id, load: 0 }));
    expect([...record.latencyMs]).toEqual([500]);
  });

  it("tells answers out of the cache from loads, rejections and wrong answers", async () => {
    const answers: Record<string, () => Promise<unknown>> = {
      u1: async () => ({ id: "u1", load: 3 }),
      u2: async () => ({ id: "u2", load: 4 }),
      u3: () => Promise.reject(new Error("refused")),
      u4: async () => ({ id: "u1", load: 1 }),
    };
    const record = await driveAt(
      10,
      [1, 2, 3, 4],
      (id) => answers[id]?.() ?? Promise.resolve(),
      () => 3,
    );
    expect([...record.outcome]).toEqual([HIT, LOADED, FAILED, FAILED]);
    expect(record.firstError).toContain("refused");
  });

  it("closes the run with requests still open, counting their age", async () => {
    const record = await driveAt(20, [1, 2], (id) =>
      id === "u1" ? Promise.resolve({ id, load: 0 }) : new Promise(() => {}),
    );
    expect([...record.outcome]).toEqual([HIT, WAITING]);
    expect([...record.latencyMs]).toEqual([20, 20]);
  });
});
