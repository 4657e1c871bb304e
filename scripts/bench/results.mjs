// Writes what was measured as a document: benches/RESULTS.md.
import { judge, MET, MISSED, NOT_HERE, NOT_MEASURED } from "../../benches/node/support/budgets.mjs";
import { cell, limitText, measuredText, number, subject } from "../../benches/node/support/report.mjs";

/** Cells hold no line breaks and no bars of their own. */
const escaped = (text) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** A table whose first column is flush left and whose others are flush right. */
export function markdownTable(columns, rows) {
  const line = (cells) => `| ${cells.map((text) => escaped(text)).join(" | ")} |`;
  const rule = `|${columns.map((_, column) => (column === 0 ? "---" : "---:")).join("|")}|`;
  return [line(columns), rule, ...rows.map(line)].join("\n");
}

/** Spaces around numbers' dashes and such stay; only what a heading cannot have goes. */
const nodeTitle = ({ version }) => `Node ${version}`;

/** All that a run measured, by id. What no Node runs in is the same for all of them. */
export function measuresOf(run, shared) {
  const own = run.outcomes.flatMap(({ result }) => Object.entries(result?.measures ?? {}));
  return { ...shared, ...Object.fromEntries(own) };
}

function budgetsSection(runs, shared) {
  const judged = runs.map((run) => judge(measuresOf(run, shared)));
  const columns = ["budget", "wanted", ...runs.flatMap((run) => [nodeTitle(run.node), "budget used", "verdict"])];
  const rows = judged[0].map((budget, row) => [
    subject(budget),
    limitText(budget),
    ...judged.flatMap((column) => [measuredText(column[row]), usedText(column[row].over), verdictText(column[row])]),
  ]);
  const counts = judged.map((column, at) => `${nodeTitle(runs[at].node)}: ${tally(column)}.`);
  return ["## Budgets", counts.join(" "), markdownTable(columns, rows)].join("\n\n");
}

const usedText = (over) => (over === undefined ? "-" : `${number(over * 100)} %`);
const verdictText = ({ verdict, needs }) => (verdict === NOT_HERE ? `${verdict}: needs ${needs}` : emphasised(verdict));
const emphasised = (verdict) => (verdict === MET ? verdict : `**${verdict}**`);

/** How many budgets came to what. */
export function tally(judged) {
  return [MET, MISSED, NOT_MEASURED, NOT_HERE]
    .map((verdict) => [judged.filter((row) => row.verdict === verdict).length, verdict])
    .filter(([count, verdict]) => count > 0 || verdict === MISSED)
    .map(([count, verdict]) => `${count} ${verdict}`)
    .join(", ");
}

function machineSection({ date, machine, runs }) {
  const { processor, cores, memoryGiB } = machine;
  const loads = runs.map(({ node, load }) => `${nodeTitle(node)}: ${load.map(number).join(" before, ")} after`);
  const rows = [
    ["date", date],
    ["processor", processor],
    ["cores", String(cores)],
    ["memory", `${memoryGiB} GiB`],
    ["load", loads.join("; ")],
  ];
  return ["## Machine", markdownTable(["", ""], rows)].join("\n\n");
}

function workloadSection(name, runs, plots) {
  const outcomes = runs.map((run) => ({ node: run.node, ...run.outcomes.find((outcome) => outcome.name === name) }));
  const title = outcomes.find(({ result }) => result !== undefined)?.result.workload ?? name;
  const parts = [`## ${title}`, `[${name}.mjs](node/${name}.mjs)`];
  for (const { file, title: caption } of plots) parts.push(`![${escaped(caption)}](${file})`);
  for (const { node, result, failure } of outcomes) {
    if (runs.length > 1) parts.push(`### ${nodeTitle(node)}: ${name}`);
    if (result === undefined) {
      parts.push(`**Failed: ${failure}.**`);
      continue;
    }
    for (const { title: caption, columns, rows } of result.tables) {
      parts.push(
        caption,
        markdownTable(
          columns,
          rows.map((row) => row.map(cell)),
        ),
      );
    }
  }
  const notes = outcomes.flatMap(({ result }) => result?.notes ?? []);
  parts.push(...new Set(notes));
  return parts.join("\n\n");
}

function coreSection({ figures }) {
  const rows = Object.entries(figures).map(([name, figure]) => [name, cell(figure)]);
  return ["## The core alone", "Criterion, brief: ns.", markdownTable(["", "ns"], rows)].join("\n\n");
}

function tailSection({ text }) {
  const plot = "![Hedging: latency distributions against the optimum](tail/latency.svg)";
  return ["## Hedging, in virtual time", plot, `\`\`\`text\n${text}\n\`\`\``].join("\n\n");
}

function versionsSection(versions) {
  const rows = Object.entries(versions).map(([name, version]) => [name, version]);
  return ["## Versions", markdownTable(["", ""], rows)].join("\n\n");
}

const INTRODUCTION = `Written by \`npm run bench\`; what is measured how is in [the workloads](node) themselves. Contenders run in turn,
A B C A B C ..., in one process; figures are medians of the rounds with the least and the most in parentheses, and ratios
are taken round by round. CPU is the main thread's. A budget in nanoseconds was set on another machine: it is compared with
a figure that is scaled by a yardstick of the same rounds. The figures of the core and of the simulation come from no Node:
they are the same in every column.`;

/**
 * The document.
 * @param all - `{ date, machine, versions, runs, core, tail }`; a run is `{ node, load, outcomes }`, an outcome `{ name, result | failure }`.
 *   `core` and `tail` may be `{ failure }`, or not be there.
 * @param plots - By workload, `{ file, title }` of its plots.
 */
export function renderResults(all, plots = {}) {
  const { runs, core, tail, versions } = all;
  const names = [...new Set(runs.flatMap(({ outcomes }) => outcomes.map(({ name }) => name)))];
  const section = (title, part, render) => {
    if (part === undefined) return [];
    return [part.failure === undefined ? render(part) : `## ${title}\n\n**Failed: ${part.failure}.**`];
  };
  const parts = [
    "# Benchmark results",
    INTRODUCTION,
    machineSection(all),
    budgetsSection(runs, { ...core?.measures, ...tail?.measures }),
    ...names.map((name) => workloadSection(name, runs, plots[name] ?? [])),
    ...section("The core alone", core, coreSection),
    ...section("Hedging, in virtual time", tail, tailSection),
    versionsSection(versions),
  ];
  return `${parts.join("\n\n")}\n`;
}
