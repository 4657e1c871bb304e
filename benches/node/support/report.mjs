/** What a workload found: tables of figures, and the budgets they answer to. */

/** How far over its budget a figure may be to be called near. */
export const NEAR = 1.5;

/** @param row - `{ measured, budget, atLeast }`. How much worse than its budget the figure is: 1 or less is met. */
export function overBudget({ measured, budget, atLeast }) {
  if (atLeast) return budget / measured;
  // A budget of nothing at all has no ratio.
  return budget === 0 ? (measured === 0 ? 0 : Number.POSITIVE_INFINITY) : measured / budget;
}

export function verdict(row) {
  const over = overBudget(row);
  if (over <= 1) return "met";
  return over <= NEAR ? `within ${NEAR}x` : "missed";
}

export function number(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 10_000) return Math.round(value).toLocaleString("en-US");
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return size === 0 || Number.isInteger(value) ? String(value) : value.toFixed(2);
}

/** A figure with its spread. */
function spread(cell) {
  if (typeof cell !== "object") return typeof cell === "number" ? number(cell) : cell;
  return `${number(cell.median)} (${number(cell.min)}-${number(cell.max)})`;
}

/** Lines of a table, the first column flush left and the others flush right. */
export function tableLines(columns, rows) {
  const texts = [columns, ...rows];
  const widths = columns.map((_, column) => Math.max(...texts.map((row) => row[column].length)));
  return texts.map((row) =>
    row.map((text, column) => (column === 0 ? text.padEnd(widths[column]) : text.padStart(widths[column]))).join("  "),
  );
}

export function renderTable({ title, columns, rows }) {
  const lines = tableLines(
    columns,
    rows.map((row) => row.map(spread)),
  );
  return [title, ...lines.map((line) => `  ${line}`)].join("\n");
}

/** The budgets, each with what was measured. */
export function renderBudgets(budgets) {
  const rows = budgets.map((row) => [
    row.what,
    `${number(row.measured)} ${row.unit}`,
    `${row.atLeast ? ">=" : "<="} ${number(row.budget)} ${row.unit}`,
    overBudget(row).toFixed(2),
    verdict(row),
  ]);
  return tableLines(["budget", "measured", "wanted", "over budget by", ""], rows).join("\n");
}

/** Collects what a workload finds. */
export class Report {
  tables = [];
  budgets = [];
  notes = [];

  /** @param rows - Each an array of texts, numbers and `{ median, min, max }`. */
  table(title, columns, rows) {
    this.tables.push({ title, columns, rows });
  }

  /** @param unit - Of both numbers: "ns", "x" for a ratio. */
  budget(what, measured, budget, unit, { atLeast = false } = {}) {
    this.budgets.push({ what, measured, budget, unit, atLeast });
  }

  note(text) {
    this.notes.push(text);
  }

  render() {
    const parts = [...this.tables.map(renderTable), ...this.notes];
    if (this.budgets.length > 0) parts.push(renderBudgets(this.budgets));
    return parts.join("\n\n");
  }
}
