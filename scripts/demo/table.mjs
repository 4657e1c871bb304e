/** The table by phase for the terminal, and how figures are written. */
import { percent } from "./stats.mjs";

/** Milliseconds as a person reads them: `0.84 ms`, `131 ms`, `5.94 s`. */
export function duration(ms) {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`;
  return `${ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}

export const whole = (number) => number.toLocaleString("en-US");

/** The columns of both the terminal's and the report's table: heading, text of a phase, explanation. */
export const COLUMNS = [
  ["requests", (p) => whole(p.requests), "Requests that arrived in the phase"],
  ["errors", (p) => whole(p.errors), "Calls that rejected, answered wrongly or were never answered"],
  ["hit share", (p) => percent(p.hitRatio), "Answered by a value loaded before the request came"],
  ["p50", (p) => duration(p.p50Ms), "Median latency from the planned arrival"],
  ["p99", (p) => duration(p.p99Ms), "99th percentile of the latency"],
  ["worst", (p) => duration(p.worstMs), "The slowest request"],
  [
    "bound",
    (p) => `${p.p99Ms > p.boundMs ? "over" : "within"} ${duration(p.boundMs)}`,
    "Read deadline + the source's p99 in the phase + 20 ms, and where p99 is",
  ],
  ["waiting", (p) => whole(p.waiting), "Requests of the phase not yet answered at its end"],
  ["source calls", (p) => whole(p.sourceCalls), "Requests the source received in the phase"],
  ["at once", (p) => whole(p.sourcePeak), "The most requests the source had in work at one time"],
];

/** The table by phase as lines of text. */
export function table(summary) {
  return textTable([
    ["phase", ...COLUMNS.map(([heading]) => heading)],
    ...summary.map((phase) => [phase.name, ...COLUMNS.map(([, text]) => text(phase))]),
  ]);
}

/** Rows of cells as lines of text, the first row being the headings. */
export function textTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join("  ");
  return [line(rows[0]), widths.map((width) => "─".repeat(width)).join("  "), ...rows.slice(1).map(line)];
}
