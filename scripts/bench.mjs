// Runs the benchmarks, and tells which budgets are met: criterion's in benches/, the workloads side by side with other
// packages in benches/node/, and the simulation of hedging in benches/tail/. Writes benches/RESULTS.md.
//
//   npm run bench -- --help
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { loadavg } from "node:os";
import { join } from "node:path";
import { judge } from "../benches/node/support/budgets.mjs";
import { plotFiles } from "../benches/node/support/plot-options.mjs";
import { encoded, number, renderBudgets, renderTable } from "../benches/node/support/report.mjs";
import { optionsFrom, USAGE } from "./bench/arguments.mjs";
import { measureCore, measureTail } from "./bench/core.mjs";
import { machine, versions } from "./bench/facts.mjs";
import { nodes } from "./bench/nodes.mjs";
import { measuresOf, renderResults } from "./bench/results.mjs";
import { folder, runWorkload, workloads } from "./bench/workloads.mjs";
import { ensure, ensureModules } from "./ensure.mjs";
import { main, note, SetupError } from "./support/run.mjs";

function warnIfDebug() {
  const { DEBUG_BUILD } = createRequire(import.meta.url)("../binding.js");
  if (DEBUG_BUILD) note("the addon is a debug build: its figures mean nothing (node scripts/build.mjs --force)");
}

/** A part that fails is reported, and the others are kept. */
function attempt(what, step, otherwise) {
  try {
    return step();
  } catch (error) {
    note(`${what} failed: ${error.message}`);
    return otherwise ?? { failure: error.message, measures: {} };
  }
}

/** Every workload on every Node, one Node after the other within a workload. */
async function runAll(names, versionsOfNode, { quick }, print) {
  const runs = versionsOfNode.map((node) => ({ node, outcomes: [], load: [loadavg()[0]] }));
  for (const name of names) {
    for (const { node, outcomes } of runs) {
      const outcome = await runWorkload(name, node, { quick });
      outcomes.push(outcome);
      if (outcome.result === undefined) continue;
      const { workload, tables, notes } = outcome.result;
      print([`# ${workload}, Node ${node.version}`, ...tables.map(renderTable), ...notes].join("\n\n"));
    }
  }
  for (const { load } of runs) load.push(loadavg()[0]);
  return runs;
}

/** Replaces the document and all plots in a folder. */
async function write(all, out) {
  const { drawn } = await import("../benches/node/support/plot-svg.mjs");
  const home = join(out, "plots");
  mkdirSync(home, { recursive: true });
  for (const file of readdirSync(home)) if (file.endsWith(".svg")) rmSync(join(home, file));
  const draw = (files) =>
    files.map(({ file, title, option }) => {
      writeFileSync(join(home, file), drawn(option));
      return { file: `plots/${file}`, title };
    });
  const linked = {};
  for (const { name } of all.runs[0].outcomes) {
    const runs = all.runs.map(({ node, outcomes }) => ({
      node,
      plots: outcomes.find((outcome) => outcome.name === name)?.result?.plots ?? [],
    }));
    linked[name] = attempt(`drawing ${name}`, () => draw(plotFiles(runs)), []);
  }
  writeFileSync(join(out, "RESULTS.md"), renderResults(all, linked));
  note(`written: ${join(out, "RESULTS.md")} and its plots`);
}

function coreTable({ figures }) {
  return renderTable({ title: "core", columns: ["", "ns"], rows: Object.entries(figures) });
}

await main(async () => {
  const options = optionsFrom(process.argv.slice(2));
  if (options.help) return console.log(USAGE);
  const print = options.json ? () => {} : (text) => console.log(`${text}\n`);
  ensure();
  ensureModules(folder);
  warnIfDebug();
  const names = workloads(options.filters);
  if (names.length === 0) {
    throw new SetupError(`no workload in benches/node has a name with ${options.filters.join(" or ")}`);
  }
  const runs = await runAll(names, await nodes(options), options, print);
  const core = options.criterion ? attempt("criterion", measureCore) : undefined;
  if (core?.figures) print(coreTable(core));
  const tail = options.tail ? attempt("the simulation of hedging", measureTail) : undefined;
  if (tail?.text) print(tail.text);

  const shared = { ...core?.measures, ...tail?.measures };
  for (const run of runs) {
    run.budgets = judge(measuresOf(run, shared), { all: options.out !== undefined });
    print(`# Budgets, Node ${run.node.version}\n\n${renderBudgets(run.budgets)}`);
  }
  const about = { date: new Date().toISOString().slice(0, 10), machine: machine(), versions: versions() };
  const { processor, cores } = about.machine;
  print(`${processor}, ${cores} cores; load ${runs[0].load.map(number).join(" before, ")} after.`);
  if (options.out !== undefined) await write({ ...about, runs, core, tail }, options.out);
  if (options.json) {
    const flat = runs.map(({ node, ...run }) => ({ node: node.version, ...run }));
    console.log(encoded({ ...about, runs: flat, criterion: core?.figures, tail: tail?.text }));
  }
  const failed = runs.flatMap(({ node, outcomes }) =>
    outcomes.filter(({ failure }) => failure !== undefined).map(({ name }) => `${name} (Node ${node.version})`),
  );
  if (core?.failure) failed.push("criterion");
  if (tail?.failure) failed.push("the simulation of hedging");
  if (failed.length > 0) throw new SetupError(`failed: ${failed.join(", ")}`);
});
