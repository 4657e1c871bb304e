/** The frame of a workload's script: `node --expose-gc benches/node/<workload>.mjs [--json] [--quick]`. */
import { loadavg } from "node:os";
import { endAll } from "../../../scripts/demo/children.mjs";
import { cpuSource } from "./cpu.mjs";
import { figure, ratio } from "./figures.mjs";
import { encoded, Report } from "./report.mjs";

/** What one call of lru-cache in an async function takes on the machine on which the budgets in nanoseconds were set. */
const LRU_NS = 57;

/** Runs `body` with a report, prints it, and ends the servers that were started. */
export async function workload(name, body) {
  const report = new Report();
  const [before] = loadavg();
  try {
    await body(report);
  } finally {
    endAll();
  }
  const facts = { node: process.version, cpu: cpuSource, load: [before, loadavg()[0]] };
  if (process.argv.includes("--json")) {
    const { tables, measures, notes, plots } = report;
    console.log(encoded({ workload: name, ...facts, tables, measures, notes, plots }));
  } else {
    console.log(`${name}\n\n${report.render()}\n`);
    console.log(
      `Node ${facts.node}, main thread by ${facts.cpu}, load ${facts.load.map((load) => load.toFixed(1)).join(" to ")}`,
    );
  }
}

/**
 * A budget in nanoseconds. It was set on a certain machine, so what was measured is scaled to that one: by a yardstick that ran in the same
 * rounds, and of which it is known what it takes there.
 * @param values - Ours, by round.
 * @param yardstick - The yardstick's, by round.
 */
export function scaledMeasure(report, id, values, yardstick, reference = LRU_NS) {
  const { median, min, max } = ratio(values, yardstick);
  report.measure(id, { median: median * reference, min: min * reference, max: max * reference });
}

/**
 * The table and the plot of `compare()`'s results, the first contender being ours.
 * @param unit - "ns" or "µs" per operation.
 * @param plot - Name of the plot's file; none without it.
 */
export function comparisonTable(report, title, results, unit = "ns", plot = undefined) {
  const scale = unit === "µs" ? 1_000 : 1;
  const names = Object.keys(results);
  const per = (values) => figure(values.map((value) => value / scale));
  report.table(
    title,
    ["", `main thread ${unit}/op`, `other threads ${unit}/op`, `wall ${unit}/op`, "ours to it"],
    names.map((name) => [
      name,
      per(results[name].main),
      per(results[name].other).median,
      per(results[name].wall),
      ratio(results[names[0]].main, results[name].main),
    ]),
  );
  if (plot === undefined) return;
  report.plot({
    name: plot,
    kind: "contenders",
    title,
    x: { title: `main thread, ${unit} an operation` },
    points: names.map((name) => ({ name, ...per(results[name].main) })),
  });
}
