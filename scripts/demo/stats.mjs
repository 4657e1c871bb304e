/** From the raw record of a run to its figures by phase, and to the verdict. */
import { OVERHEAD_MS, READ_TIMEOUT_MS, RECOVERY_PART } from "./phases.mjs";
import { FAILED, HIT, WAITING } from "./traffic.mjs";

/** The nearest-rank quantile of numbers sorted ascending; 0 of none. */
export function quantile(sorted, q) {
  if (sorted.length === 0) return 0;
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
}

/**
 * The figures of each phase. A request belongs to the phase it arrived in, whenever it was answered.
 *
 * - `errors`: calls that rejected or answered wrongly, and calls never answered.
 * - `hitRatio`: the part of all requests that was answered by a value loaded before the request came. One that waited for a load, its own or
 *   another's, is no hit.
 * - `waiting`: requests of the phase still open at its end.
 * - `boundMs`: read deadline + the source's p99 + 20 ms; the source measures it itself, in that phase (in the healthy one when nothing reached it).
 */
export function summarise(run) {
  const healthySource = sourceCalls(run, run.phases[0]);
  return run.phases.map((phase) => {
    const { begin, end } = range(run.atMs, phase.beginMs, phase.endMs);
    const latencies = run.latencyMs.slice(begin, end).sort();
    const half = range(run.atMs, (phase.beginMs + phase.endMs) / 2, phase.endMs);
    const source = sourceCalls(run, phase);
    const sourceP99Ms = quantile(sourceLatencies(source.length > 0 ? source : healthySource), 0.99);
    return {
      name: phase.name,
      recovers: phase.recovers === true,
      requests: end - begin,
      errors: count(begin, end, (i) => run.outcome[i] === FAILED || run.outcome[i] === WAITING),
      hitRatio: hitRatio(run, begin, end),
      lateHitRatio: hitRatio(run, half.begin, half.end),
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      worstMs: latencies.at(-1) ?? 0,
      waiting: count(begin, end, (i) => run.atMs[i] + run.latencyMs[i] > phase.endMs),
      sourceCalls: source.length,
      sourcePeak: peak(run.source, phase.beginMs, phase.endMs),
      sourceP99Ms,
      boundMs: READ_TIMEOUT_MS + sourceP99Ms + OVERHEAD_MS,
    };
  });
}

/** What this package's run failed to keep, one line each; empty when it kept everything. */
export function failures(summary, firstError) {
  const lines = [];
  const wanted = wantedHitRatio(summary);
  for (const phase of summary) {
    if (phase.errors > 0)
      lines.push(
        `${phase.name}: ${phase.errors} of ${phase.requests} callers saw an error${firstError ? ` (first: ${firstError.split("\n")[0]})` : ""}`,
      );
    if (phase.p99Ms > phase.boundMs)
      lines.push(
        `${phase.name}: p99 of ${phase.p99Ms.toFixed(1)} ms is over the bound of ${phase.boundMs.toFixed(1)} ms`,
      );
    if (phase.recovers && phase.lateHitRatio < wanted) {
      lines.push(
        `${phase.name}: the hit share did not come back: ${percent(phase.lateHitRatio)} in the second half of the phase, at least ${percent(wanted)} expected`,
      );
    }
  }
  if (wanted === 0) lines.push("healthy: nothing was ever answered from the cache");
  return lines;
}

/** The hit share that counts as being back. */
export const wantedHitRatio = (summary) => RECOVERY_PART * summary[0].lateHitRatio;

export const percent = (ratio) => `${(ratio * 100).toFixed(1)} %`;

/** The index range of arrivals within [fromMs, toMs); `atMs` is sorted. */
export function range(atMs, fromMs, toMs) {
  return { begin: firstFrom(atMs, fromMs), end: firstFrom(atMs, toMs) };
}

function firstFrom(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function count(begin, end, matches) {
  let total = 0;
  for (let i = begin; i < end; i++) if (matches(i)) total++;
  return total;
}

function hitRatio(run, begin, end) {
  return end === begin ? 0 : count(begin, end, (i) => run.outcome[i] === HIT) / (end - begin);
}

const sourceCalls = (run, { beginMs, endMs }) => run.source.filter(({ atMs }) => atMs >= beginMs && atMs < endMs);

const sourceLatencies = (requests) => Float64Array.from(requests.flatMap(({ ms }) => (ms === null ? [] : [ms]))).sort();

/** The most requests the source had in work at one time within [fromMs, toMs). */
function peak(requests, fromMs, toMs) {
  const changes = requests.flatMap(({ atMs, ms }) => [
    [atMs, 1],
    [ms === null ? Number.POSITIVE_INFINITY : atMs + ms, -1],
  ]);
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let open = 0;
  let most = 0;
  for (const [at, change] of changes) {
    if (at >= toMs) break;
    if (at >= fromMs) most = Math.max(most, open);
    open += change;
    if (at >= fromMs) most = Math.max(most, open);
  }
  return most;
}
