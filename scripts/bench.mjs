// Runs the benchmarks, and tells which budgets are met: criterion's in benches/, and the workloads side by side with other
// packages in benches/node/.
//
//   npm run bench [-- [--no-criterion] [--json] [part of a workload's name]...]
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { number, overBudget, renderBudgets, renderTable, verdict } from "../benches/node/support/report.mjs";
import { ensure, ensureModules } from "./ensure.mjs";
import { runCriterion } from "./support/criterion.mjs";
import { main, note, root, SetupError } from "./support/run.mjs";

const folder = join(root, "benches", "node");
/** Ends a workload that hangs. */
const LIMIT_MS = 180_000;

/** Budgets that criterion's figures answer to, in nanoseconds. */
const CORE_BUDGETS = [
  { what: "counters: one event", benchmark: "counter/add", ns: 15 },
  { what: "read deadline: arm and disarm, the latest of 128", benchmark: "deadline/arm_disarm/latest/128", ns: 150 },
  {
    what: "read deadline: arm and disarm, the earliest of 128",
    benchmark: "deadline/arm_disarm/earliest/128",
    ns: 150,
  },
];

function options(args) {
  const flags = args.filter((arg) => arg.startsWith("--"));
  const unknown = flags.find((flag) => !["--json", "--no-criterion"].includes(flag));
  if (unknown) throw new SetupError(`unknown option ${unknown}: use --json, --no-criterion and parts of names`);
  return {
    json: flags.includes("--json"),
    criterion: !flags.includes("--no-criterion"),
    filters: args.filter((arg) => !arg.startsWith("--")),
  };
}

function warnIfDebug() {
  const { DEBUG_BUILD } = createRequire(import.meta.url)("../binding.js");
  if (DEBUG_BUILD) note("the addon is a debug build: its figures mean nothing (node scripts/build.mjs --force)");
}

function workloads(filters) {
  const names = readdirSync(folder).filter((name) => name.endsWith(".mjs"));
  const chosen = names.filter((name) => filters.length === 0 || filters.some((part) => name.includes(part)));
  return chosen.sort();
}

function run(name) {
  note(`benches/node/${name}`);
  const { stdout, status } = spawnSync(process.execPath, ["--expose-gc", join(folder, name), "--json"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: LIMIT_MS,
  });
  if (status === 0) return JSON.parse(stdout.trim().split("\n").at(-1));
  note(`benches/node/${name} failed`);
  return undefined;
}

function core(print) {
  const medians = runCriterion();
  const rows = Object.entries(medians).map(([name, ns]) => [name, ns]);
  print(renderTable({ title: "core, medians", columns: ["", "ns"], rows }));
  const budgets = CORE_BUDGETS.map(({ what, benchmark, ns }) => {
    if (medians[benchmark] === undefined) throw new SetupError(`criterion did not measure ${benchmark}`);
    return { what, measured: medians[benchmark], budget: ns, unit: "ns", atLeast: false };
  });
  return { medians, budgets };
}

await main(() => {
  const { json, criterion, filters } = options(process.argv.slice(2));
  const print = json ? () => {} : (text) => console.log(`${text}\n`);
  ensure();
  ensureModules(folder);
  warnIfDebug();
  const names = workloads(filters);
  if (names.length === 0) throw new SetupError(`no workload in benches/node has a name with ${filters.join(" or ")}`);

  const load = [loadavg()[0]];
  const found = [];
  const failed = [];
  for (const name of names) {
    const result = run(name);
    if (result === undefined) failed.push(name);
    else {
      found.push(result);
      print([`# ${result.workload}`, ...result.tables.map(renderTable), ...result.notes].join("\n\n"));
    }
  }
  const measured = criterion && filters.length === 0 ? core(print) : { medians: {}, budgets: [] };
  load.push(loadavg()[0]);

  const budgets = [...found.flatMap((result) => result.budgets), ...measured.budgets];
  const machine = `${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, Node ${process.version}`;
  print(`# Budgets\n\n${renderBudgets(budgets)}`);
  print(
    `${machine}; load ${load.map(number).join(" before, ")} after. Medians of interleaved rounds; CPU is the main thread's.`,
  );
  if (json) {
    const judged = budgets.map((row) => ({ ...row, over: overBudget(row), verdict: verdict(row) }));
    console.log(JSON.stringify({ machine, load, budgets: judged, workloads: found, criterion: measured.medians }));
  }
  if (failed.length > 0) throw new SetupError(`failed: ${failed.join(", ")}`);
});
