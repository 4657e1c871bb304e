import { describe, expect, it } from "vitest";
import { node } from "./support";

const { exponent, figure, quantile, ratio } = await node("figures");

describe("figures", () => {
  it("are medians with the least and the most", () => {
    expect(figure([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(figure([4, 1, 2, 10])).toEqual({ median: 3, min: 1, max: 10 });
  });

  it("compare contenders round by round, so that a slow round cancels out", () => {
    expect(ratio([1, 10, 2], [2, 20, 4])).toEqual({ median: 0.5, min: 0.5, max: 0.5 });
  });

  it("take nearest-rank quantiles", () => {
    expect([quantile([4, 1, 3, 2], 0.5), quantile([4, 1, 3, 2], 0.99), quantile([7], 0)]).toEqual([2, 4, 7]);
  });

  it.each([
    ["in proportion", (n: number) => 3 * n, 1],
    ["not at all", () => 5, 0],
    ["with the square", (n: number) => n ** 2, 2],
  ])("tell how a cost grows: %s", (_, cost, power) => {
    const points = [1, 10, 100].map((n) => ({ n, values: [cost(n), 2 * cost(n)] }));
    const found = exponent(points);
    for (const value of Object.values(found)) expect(value).toBeCloseTo(power, 10);
  });
});
