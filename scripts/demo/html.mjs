/** Pieces of the report's page. */

/** Text as HTML. */
export const html = (text) =>
  String(text).replace(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char]);

/** A table: `headings` as `[text, explanation]`, and rows of `[text, class]` or plain texts. */
export function htmlTable(headings, rows) {
  const head = headings
    .map(([heading, explanation]) => `<th${explanation ? ` title="${html(explanation)}"` : ""}>${html(heading)}</th>`)
    .join("");
  const cell = ([text, name]) => `<td${name ? ` class="${name}"` : ""}>${html(text)}</td>`;
  const body = rows.map((row) => `<tr>${row.map((entry) => cell([entry].flat())).join("")}</tr>`).join("");
  return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

/** Terms and what they mean. */
export function explained(entries) {
  return `<dl>${entries.map(([term, text]) => `<dt>${html(term)}</dt><dd>${html(text)}</dd>`).join("\n")}</dl>`;
}
