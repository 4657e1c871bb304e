/** From the raw records of a comparison to its figures, and to the verdict. */
import { percent, quantile } from "../stats.mjs";
import { duration } from "../table.mjs";
import { FAILED, HIT, WAITING } from "../traffic.mjs";
import { IMPROVED_PART } from "./settings.mjs";

/** The figures of one side's calls. One that was never answered is an error too. */
export function callFigures({ latencyMs, outcome }) {
  const latencies = Float64Array.from(latencyMs).sort();
  const share = (matches) => outcome.filter(matches).length;
  const requests = outcome.length;
  return {
    requests,
    errors: share((one) => one === FAILED || one === WAITING),
    hitRatio: requests === 0 ? 0 : share((one) => one === HIT) / requests,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    worstMs: latencies.at(-1) ?? 0,
  };
}

/** What the side with hedging failed to keep against the one without, one line each; `strict` sides may not see an error. */
export function tailFailures(title, { without, hedged, strict }) {
  const lines = strict
    .filter(({ errors }) => errors > 0)
    .map(({ title: side, errors, requests, firstError }) => {
      const first = firstError ? ` (first: ${firstError.split("\n")[0]})` : "";
      return `${title}: ${errors} of ${requests} callers saw an error with ${side}${first}`;
    });
  if (hedged.p99Ms > IMPROVED_PART * without.p99Ms) {
    lines.push(
      `${title}: p99 of ${duration(hedged.p99Ms)} with ${hedged.title}, ${duration(without.p99Ms)} with ${without.title}: at most ${percent(IMPROVED_PART)} of that was expected`,
    );
  }
  return lines;
}
