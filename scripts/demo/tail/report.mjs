/** The report's second part. */
import { explained, html, htmlTable } from "../html.mjs";
import { duration } from "../table.mjs";
import { tailChart } from "./chart.mjs";
import { lateText, originsText } from "./index.mjs";
import { ORIGINS, READS } from "./settings.mjs";
import { eventsLine, loadTable, originsTable, readsTable, storiesTable } from "./tables.mjs";

/** Its figures at a glance. */
export function tailTiles({ reads, origins }) {
  return [tile("p99 of late reads", reads.sides), tile("p99 with an origin in trouble", origins.sides)].join("\n");
}

/** Its sections. */
export function tailSections({ reads, origins }) {
  const { hedge } = ORIGINS.policies;
  return `<section>
${header("Reads that are late, but not dead", reads.sides)}
<p class="lead">${html(`${READS.traffic.ratePerSec} requests a second through each at the same time, a real Redis server behind a proxy: ${lateText()}. The hedged one starts the source (30-80 ms) beside a read that is later than 95 % of its reads were.`)}</p>
<div class="scroll">${tailChart("Late reads", reads.sides)}</div>
<div class="scroll">${tableHtml(readsTable(reads))}</div>
</section>
<section>
${header("A slow, a failing and a healthy origin", origins.sides)}
<p class="lead">${html(`${ORIGINS.traffic.ratePerSec} calls a second through each at the same time, uncached, the same fate for the same call. ${originsText()}. A hedge starts after ${hedge.delayMs} ms.`)}</p>
<div class="scroll">${tailChart("Origins in trouble", origins.sides)}</div>
<div class="scroll">${tableHtml(originsTable(origins))}</div>
<div class="scroll">${tableHtml(loadTable(origins))}</div>
<p class="lead">${html(eventsLine(origins))}.</p>
<div class="scroll">${tableHtml(storiesTable(origins))}</div>
</section>`;
}

/** How to read it. */
export function tailNotes() {
  const entries = [
    [
      "tail",
      "the curves show which part of the calls took longer than so long; both scales are logarithmic, and the mark is the p99.",
    ],
    [
      "outruns, extra",
      "an outrun read is one that the source was faster than. Extra is what hedging costs the source, beside the calls it would have had anyway.",
    ],
    ["aborted", "attempts that lost; the origin saw their connection close and stopped working on them."],
    [
      "onRetry",
      "a failover goes to another origin at once; a retry waits and asks again, which a call comes to need when no other is left.",
    ],
    ["calls", "those that went alike are one line, with the figures of the first of them."],
  ];
  return explained(entries);
}

function header(title, [without, hedged]) {
  return `<header><h2>${html(title)}</h2>
<div class="legend"><span class="without">${html(without.title)}</span><span class="hedged">${html(hedged.title)}</span></div></header>`;
}

function tile(label, [without, hedged]) {
  return `<div class="tile"><div class="name">${html(label)}</div><div class="ours">${duration(hedged.p99Ms)}</div><div class="other">${html(without.title)}: <b>${duration(without.p99Ms)}</b></div></div>`;
}

const tableHtml = ({ headings, rows }) => htmlTable(headings, rows);
