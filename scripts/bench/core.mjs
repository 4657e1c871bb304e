// What needs no Node: criterion's benchmarks of the core, and the simulation of hedging.
import { spawnSync } from "node:child_process";
import { runCriterion } from "../support/criterion.mjs";
import { note, root, SetupError } from "../support/run.mjs";

/** Budgets that criterion's figures answer to, in nanoseconds, by their id. */
const CORE = {
  counter: "counter/add",
  "deadline-latest": "deadline/arm_disarm/latest/128",
  "deadline-earliest": "deadline/arm_disarm/earliest/128",
};
/** The policy, and the workloads, whose distance from the optimum has a budget. */
const JUDGED = { policy: "auto", workloads: ["W1", "W3 leaf"] };

/** @returns `{ figures, measures }`: nanoseconds by benchmark, and those that have a budget. */
export function measureCore() {
  const figures = runCriterion();
  const measures = {};
  for (const [id, benchmark] of Object.entries(CORE)) {
    if (figures[benchmark] === undefined) throw new SetupError(`criterion did not measure ${benchmark}`);
    measures[id] = figures[benchmark];
  }
  return { figures, measures };
}

/** @returns `{ text, measures }`: the simulation's table, and what has a budget. */
export function measureTail() {
  note("benches/tail");
  const args = ["bench", "--quiet", "--no-default-features", "--bench", "tail", "--", "--json"];
  const { stdout, error } = spawnSync("cargo", args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", 2],
    maxBuffer: 1 << 26,
  });
  // It also fails when a bound is not met, which the budgets tell.
  const lines = (stdout ?? "").trimEnd().split("\n");
  const last = lines.pop();
  if (error || !last.startsWith("{")) throw new SetupError("the simulation of hedging failed");
  const text = lines.filter((line) => !line.startsWith("plot:")).join("\n");
  return { text: text.trimEnd(), measures: tailMeasures(JSON.parse(last)) };
}

/** What of the simulation's line for programs has a budget. */
export function tailMeasures({ rows, hedgeShare, step }) {
  const judged = rows.filter(({ policy, workload }) => policy === JUDGED.policy && JUDGED.workloads.includes(workload));
  if (judged.length === 0) throw new SetupError("the simulation has no row that a budget is about");
  const one = (value) => ({ median: value, min: value, max: value });
  return {
    "hedge-optimum": one(Math.max(...judged.map(({ ratio }) => ratio))),
    "hedge-budget": one(hedgeShare.max / hedgeShare.budget),
    "hedge-step": one(step.maxHedgeShare * 100),
  };
}
