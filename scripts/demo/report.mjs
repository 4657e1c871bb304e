/** `demo-report.html`: one file without scripts or anything to fetch. */
import { readFileSync } from "node:fs";
import { binsOf } from "./bins.mjs";
import { explained, html, htmlTable } from "./html.mjs";
import { OVERHEAD_MS, PHASES, READ_TIMEOUT_MS, TRAFFIC } from "./phases.mjs";
import { chart } from "./report-chart.mjs";
import { COLUMNS, duration, whole } from "./table.mjs";
import { tailNotes, tailSections, tailTiles } from "./tail/report.mjs";

const TITLE = "Redis frozen, killed and restarted under load";
const TAIL_TITLE = "Redis and origins slow, but not dead";

/** The page for these runs, and for the second part when it was run; `verdicts` say how this package's runs are judged. */
export function report(runs, verdicts, tail) {
  const title = runs.length > 0 ? TITLE : TAIL_TITLE;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
${readFileSync(new URL("./report.css", import.meta.url), "utf8")}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${runs.length > 0 ? lead(runs) : ""}
${verdicts.map(judgement).join("\n")}
${tiles(runs, tail)}
${runs.length > 0 ? sections(runs) : ""}
${runs.length > 0 && tail ? `<h1 class="part">${TAIL_TITLE}</h1>` : ""}
${tail ? tailSections(tail) : ""}
<section class="notes"><h2>How to read it</h2>${runs.length > 0 ? notes() : ""}${tail ? tailNotes() : ""}</section>
<footer>Written by <code>npm run demo</code> on ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC with Node ${process.versions.node}.</footer>
</main>
</body>
</html>
`;
}

function lead(runs) {
  return `<p class="lead">${TRAFFIC.ratePerSec} requests a second for ${runs[0].durationMs / 1_000} s; the same arrivals through each, one after the other, with a fresh Redis server and the same source. ${html(phaseText())}</p>`;
}

function sections(runs) {
  const ours = runs.find(({ variant }) => variant === "dialcache");
  const worstMs = Math.max(1_000, ...runs.flatMap(({ summary }) => summary.map((phase) => phase.worstMs)));
  const scales = {
    slowestMs: 10 ** Math.ceil(Math.log10(worstMs)),
    mostOpen: Math.max(100, ...runs.map((run) => Math.max(...binsOf(run).map(({ open }) => open)))),
    bounds: (ours ?? runs[0]).summary,
  };
  return [...runs]
    .reverse()
    .map((run) => section(run, scales))
    .join("\n");
}

function phaseText() {
  return `Phases: ${PHASES.map(({ name, seconds }) => `${name} ${seconds} s`).join(", ")}.`;
}

function judgement({ kept, text, failed }) {
  if (kept) return `<div class="verdict"><b>Kept:</b> ${html(text)}</div>`;
  return `<div class="verdict bad"><b>Not kept:</b><ul>${failed.map((line) => `<li>${html(line)}</li>`).join("")}</ul></div>`;
}

function tiles(runs, tail) {
  const ours = runs.find(({ variant }) => variant === "dialcache");
  const all = [ours ? outageTiles(ours, runs) : "", tail ? tailTiles(tail) : ""].filter((text) => text !== "");
  return all.length > 0 ? `<div class="tiles">\n${all.join("\n")}\n</div>` : "";
}

function outageTiles(ours, runs) {
  const plain = runs.find(({ variant }) => variant === "plain");
  const figure = (label, read) => {
    const other = plain ? `<div class="other">${html(plain.title)}: <b>${read(plain.summary)}</b></div>` : "";
    return `<div class="tile"><div class="name">${label}</div><div class="ours">${read(ours.summary)}</div>${other}</div>`;
  };
  const phase = (name) => (summary) => duration(summary.find((entry) => entry.name === name).p99Ms);
  return `${figure("p99 while frozen", phase("frozen"))}
${figure("p99 while killed", phase("killed"))}
${figure("Slowest request of all", (summary) => duration(Math.max(...summary.map(({ worstMs }) => worstMs))))}
${figure("Waiting at a phase's end, at most", (summary) => whole(Math.max(...summary.map(({ waiting }) => waiting))))}`;
}

function section(run, scales) {
  const failed = run.summary.some(({ errors }) => errors > 0) ? `<span class="failed">error or no answer</span>` : "";
  return `<section>
<header><h2>${html(run.title)}</h2>
<div class="legend"><span class="hit">from the cache</span><span class="loaded">waited for the source</span>${failed}<span class="p99">p99 of each half second</span><span class="bound">bound</span></div></header>
<div class="scroll">${chart(run, scales)}</div>
<div class="scroll">${phaseTable(run.summary)}</div>
</section>`;
}

function phaseTable(summary) {
  const rows = summary.map((phase) => [
    phase.name,
    ...COLUMNS.map(([heading, text]) =>
      heading === "bound" ? [text(phase), phase.p99Ms > phase.boundMs ? "over" : "within"] : text(phase),
    ),
  ]);
  return htmlTable([["phase"], ...COLUMNS.map(([heading, , explanation]) => [heading, explanation])], rows);
}

function notes() {
  const entries = [
    [
      "latency",
      "from the moment the request was planned to arrive, whether or not the service was able to take it then; arrivals do not wait for answers. Each dot is one request, at its arrival; the scale is logarithmic.",
    ],
    [
      "phase",
      "a request belongs to the phase it arrived in, with its real latency, however late it was answered; so the slowest of a phase may be one that came just before the next. One that was still open when the run was closed counts as an error, with its age as latency.",
    ],
    [
      "hit share",
      "requests answered by a value that had been loaded before they came. Waiting for somebody else's load is no hit.",
    ],
    [
      "bound",
      `read deadline (${READ_TIMEOUT_MS} ms) + the source's p99 in the phase, measured inside the source + ${OVERHEAD_MS} ms. Both charts show the bound of this package's run.`,
    ],
    [
      "source calls, at once",
      "what reached the source in the phase, and the most it had in work at one time: a herd of callers after an outage shows here.",
    ],
    [
      "killed",
      "the server's data is lost, so after the restart both start from an empty cache, as they did in the healthy phase.",
    ],
  ];
  return explained(entries);
}
