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
