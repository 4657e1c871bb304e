// Quick rounds of the budgets that a change is checked against: prints the ratios, and fails only on a collapse.
//
//   npm run bench:smoke
import { judge } from "../../benches/node/support/budgets.mjs";
import { renderBudgets } from "../../benches/node/support/report.mjs";
import { ensure, ensureModules } from "../ensure.mjs";
import { isMain, main, note, SetupError } from "../support/run.mjs";
import { folder, runWorkload } from "./workloads.mjs";

/** How far off its budget a figure must be to be called a collapse: less than that is what a busy machine does. */
export const COLLAPSE = 3;
/** What the budgets marked `smoke` are measured by. */
export const SMOKE = [
  "codec-threads",
  "deadline",
  "deadlines-armed",
  "followers",
  "garbage",
  "local-hot",
  "local-zipf",
  "miss",
  "outside",
  "redis-hit",
  "redis-latency",
  "request-local",
  "source-policy",
  "startup",
];
const LIMIT_MS = 60_000;
const node = { path: process.execPath, version: process.versions.node };

/** Those of a workload's budgets that have collapsed. Without a figure there is nothing to say. */
export function collapsed(measures) {
  const isFine = ({ over, figure, collapse = 0 }) => over <= COLLAPSE || figure.median < collapse;
  return judge(measures, { all: false }).filter((row) => row.smoke && !isFine(row));
}

/**
 * Runs workloads; one that fails or shows a collapse has a second try, which counts.
 * @param run - Runs one by its name: `{ result }` or `{ failure }`.
 * @returns `measures` of all, and `failures` in one line each.
 */
export async function smoke(names, run) {
  const measures = {};
  const failures = [];
  for (const name of names) {
    let outcome = await run(name);
    if (troubles(name, outcome).length > 0) {
      note(`${name}: once more, because of ${troubles(name, outcome).join("; ")}`);
      outcome = await run(name);
    }
    Object.assign(measures, outcome.result?.measures);
    failures.push(...troubles(name, outcome));
  }
  return { measures, failures };
}

function troubles(name, { result, failure }) {
  if (result === undefined) return [`${name} failed: ${failure}`];
  return collapsed(result.measures).map(({ what, over }) => `${what} is ${over.toFixed(1)} times off its budget`);
}

/** Budgets that are marked and were not measured: a workload is missing. */
export function unmeasured(measures) {
  return judge(measures).filter(({ smoke: wanted, figure }) => wanted && figure === undefined);
}

if (isMain(import.meta.url)) {
  await main(async () => {
    ensure();
    ensureModules(folder);
    const { measures, failures } = await smoke(SMOKE, (name) =>
      runWorkload(name, node, { quick: true, limitMs: LIMIT_MS }),
    );
    console.log(renderBudgets(judge(measures, { all: false })));
    console.log(`\nQuick rounds: only what is ${COLLAPSE} times off its budget, twice in a row, fails.`);
    const missing = unmeasured(measures).map(({ what }) => what);
    if (missing.length > 0) console.log(`Not measured: ${missing.join("; ")}.`);
    if (failures.length > 0) throw new SetupError(`collapsed: ${failures.join("; ")}`);
  });
}
