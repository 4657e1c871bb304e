/** A run in half seconds: what the timeline draws, and how soon the hit share was back. */
import { quantile, range } from "./stats.mjs";
import { HIT } from "./traffic.mjs";

const BIN_MS = 500;

/** Figures of each half second: of the requests that came in it, and how many were open at its end. */
export function binsOf(run) {
  const bins = [];
  const answeredAt = run.latencyMs.map((ms, i) => run.atMs[i] + ms).sort();
  for (let fromMs = 0; fromMs < run.durationMs; fromMs += BIN_MS) {
    const toMs = fromMs + BIN_MS;
    const { begin, end } = range(run.atMs, fromMs, toMs);
    const latencies = run.latencyMs.slice(begin, end).sort();
    const hits = run.outcome.subarray(begin, end).filter((outcome) => outcome === HIT).length;
    bins.push({
      fromMs,
      toMs,
      requests: end - begin,
      hitRatio: end > begin ? hits / (end - begin) : 0,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      worstMs: latencies.at(-1) ?? 0,
      open: end - range(answeredAt, 0, toMs).end,
    });
  }
  return bins;
}

/** For each phase that should recover, the end of its first half second with at least the hit share `wanted`, or undefined. */
export function recoveries(run, wanted) {
  const bins = binsOf(run);
  return run.phases
    .filter(({ recovers }) => recovers)
    .map(({ name, beginMs, endMs }) => {
      const back = bins.find((bin) => bin.fromMs >= beginMs && bin.toMs <= endMs && bin.hitRatio >= wanted);
      return { name, afterMs: back && back.toMs - beginMs };
    });
}
