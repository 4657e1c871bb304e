/** Medians and spreads. */

/** The nearest-rank quantile of numbers in any order. */
export function quantile(values, q) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
}

/** Median, least and most. */
export function figure(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1] };
}

/** The figure of `a` over `b`, round by round: what both met in a round cancels out. */
export function ratio(a, b) {
  return figure(a.map((value, round) => value / b[round]));
}

/**
 * How a cost grows with n: the exponent of the power that fits it best, round by round. 1 is in proportion, 0 not at all.
 * @param points - `{ n, values }`, the values by round.
 */
export function exponent(points) {
  const xs = points.map(({ n }) => Math.log(n));
  const rounds = points[0].values.map((_, round) =>
    slope(
      xs,
      points.map(({ values }) => Math.log(values[round])),
    ),
  );
  return figure(rounds);
}

/** Of the straight line with the least squares. */
function slope(xs, ys) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(xs), mean(ys)];
  const covered = xs.reduce((sum, value, at) => sum + (value - x) * (ys[at] - y), 0);
  return covered / xs.reduce((sum, value) => sum + (value - x) ** 2, 0);
}
