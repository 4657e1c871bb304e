/** What a workload found: tables of figures, plots, and what it measured of the budgets. */
import { isKnown, judge } from "./budgets.mjs";

export function number(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 10_000) return Math.round(value).toLocaleString("en-US");
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return size === 0 || Number.isInteger(value) ? String(value) : value.toFixed(2);
}

/** A figure with its spread; texts stay as they are. */
export function cell(value) {
  if (typeof value === "string") return value;
  if (typeof value === "number") return number(value);
  return `${number(value.median)} (${number(value.min)}-${number(value.max)})`;
}

/** A limit as it is shown. */
export function limitText({ limit, unit, atLeast }) {
  return `${atLeast ? ">=" : "<="} ${limit.toLocaleString("en-US")} ${unit}`.trim();
}

/** What was measured of a budget: its median and how far the rounds were apart. */
export function measuredText({ figure, unit, instead }) {
  if (figure === undefined) return instead === undefined ? "-" : `${cell(instead.figure)} x ${instead.what}`;
  return `${figure.min === figure.max ? number(figure.median) : cell(figure)} ${unit}`.trim();
}

/** What a budget is about, with the yardstick that its figure is scaled by. */
export function subject({ what, scaled }) {
  return scaled === undefined ? what : `${what}, where ${scaled}`;
}

/** Lines of a table, the first column flush left and the others flush right. */
export function tableLines(columns, rows) {
  const texts = [columns, ...rows];
  const widths = columns.map((_, column) => Math.max(...texts.map((row) => row[column].length)));
  return texts.map((row) =>
    row
      .map((text, column) => (column === 0 ? text.padEnd(widths[column]) : text.padStart(widths[column])))
      .join("  ")
      .trimEnd(),
  );
}

export function renderTable({ title, columns, rows }) {
  const lines = tableLines(
    columns,
    rows.map((row) => row.map(cell)),
  );
  return [title, ...lines.map((line) => `  ${line}`)].join("\n");
}

/** The budgets, each with what was measured. */
export function renderBudgets(judged) {
  const rows = judged.map((row) => [
    subject(row),
    measuredText(row),
    limitText(row),
    row.over === undefined ? "-" : row.over.toFixed(2),
    row.verdict,
  ]);
  return tableLines(["budget", "measured", "wanted", "over budget by", ""], rows).join("\n");
}

/** What JSON has no text for: a source that never started is late by an infinite time. */
const ODD = ["Infinity", "-Infinity", "NaN"];

/** One line of JSON, from which {@link decoded} brings back every number. */
export function encoded(value) {
  return JSON.stringify(value, (_, one) => (typeof one === "number" && !Number.isFinite(one) ? String(one) : one));
}

export function decoded(text) {
  return JSON.parse(text, (_, one) => (ODD.includes(one) ? Number(one) : one));
}

/** Collects what a workload finds. */
export class Report {
  tables = [];
  measures = {};
  notes = [];
  plots = [];

  /** @param rows - Each an array of texts, numbers and `{ median, min, max }`. */
  table(title, columns, rows) {
    this.tables.push({ title, columns, rows });
  }

  /** What a budget asks for: a figure, or a number that has no rounds. */
  measure(id, figure) {
    if (!isKnown(id)) throw new Error(`there is no budget ${id}`);
    this.measures[id] = typeof figure === "number" ? { median: figure, min: figure, max: figure } : figure;
  }

  /** @param plot - See plots.mjs. Its name is its file's. */
  plot(plot) {
    this.plots.push(plot);
  }

  note(text) {
    this.notes.push(text);
  }

  render() {
    const parts = [...this.tables.map(renderTable), ...this.notes];
    const judged = judge(this.measures, { all: false });
    if (judged.length > 0) parts.push(renderBudgets(judged));
    return parts.join("\n\n");
  }
}
