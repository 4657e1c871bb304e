/** The tables of the second part, for the terminal and for the report alike: `headings` as `[text, explanation]`, and rows of texts. */
import { percent } from "../stats.mjs";
import { duration, whole } from "../table.mjs";

const MOST_COURSES = 8;

const CALLS = [
  ["requests", "Calls, the same arrivals for both", ({ requests }) => whole(requests)],
  ["errors", "Calls that rejected, answered wrongly or were never answered", ({ errors }) => whole(errors)],
];
const LATENCIES = [
  ["p50", "Median latency from the planned arrival", ({ p50Ms }) => duration(p50Ms)],
  ["p99", "99th percentile of the latency", ({ p99Ms }) => duration(p99Ms)],
  ["worst", "The slowest call", ({ worstMs }) => duration(worstMs)],
];
const READS = [
  ...CALLS,
  ["hit share", "Answered by a value loaded before the request came", ({ hitRatio }) => percent(hitRatio)],
  ...LATENCIES,
  ["late replies", "Replies of Redis that were held back", ({ late }) => whole(late)],
  ["outruns", "Hedged reads that the source was faster than", ({ readHedge }) => whole(readHedge.outruns)],
  ["hit after all", "Hedged reads that were faster than the source", ({ readHedge }) => whole(readHedge.hits)],
  ["denied", "Hedges that the budget did not allow", ({ readHedge }) => whole(readHedge.denied)],
  ["source calls", "Requests the source received", ({ sourceCalls }) => whole(sourceCalls)],
  [
    "extra",
    "Source calls beyond those of the deadline alone, and their part of the requests",
    ({ extraCalls, requests }) => extra(extraCalls, requests),
  ],
];

/** Both sides of the comparison of reads. */
export const readsTable = ({ sides }) => tableOf("late reads", READS, sides, ({ title }) => title);

/** Both sides of the comparison of origins. */
export function originsTable({ sides, load }) {
  const calls = (name) => load.reduce((total, origin) => total + origin[name].requests, 0);
  const columns = [
    ...CALLS,
    ...LATENCIES,
    ["origin requests", "What all origins received", ({ name }) => whole(calls(name))],
    [
      "extra",
      "Requests beyond one for each call, and their part of the calls",
      ({ name, requests }) => extra(calls(name) - requests, requests),
    ],
  ];
  return tableOf("origins in trouble", columns, sides, ({ title }) => title);
}

/** What each origin got. */
export function loadTable({ sides: [first, policies], load }) {
  const columns = [
    [first.title, "Requests it received", (origin) => whole(origin[first.name].requests)],
    [policies.title, "Requests it received", (origin) => whole(origin[policies.name].requests)],
    [
      "extra",
      "The difference, and its part of the calls",
      (origin) => extra(origin[policies.name].requests - origin[first.name].requests, policies.requests),
    ],
    ["503", "Requests of the second that it failed", (origin) => whole(origin[policies.name].failed)],
    [
      "aborted",
      "Losers: their connection was closed before it had answered",
      (origin) => whole(origin[policies.name].aborted),
    ],
  ];
  return tableOf("origin", columns, load, ({ name }) => name);
}

/** What happened in the calls, the most frequent first. */
export function storiesTable({ stories }) {
  const columns = [["calls", "How often", ({ count }) => whole(count)]];
  return tableOf(
    "what happened in a call, with the figures of the first",
    columns,
    stories.slice(0, MOST_COURSES),
    ({ text }) => text,
  );
}

/** The counts of the source's listeners and of its hedges, as a line. */
export function eventsLine({ events, stats: { hedges } }) {
  const counts = Object.entries(events).map(([name, count]) => `${name} ${whole(count)}`);
  const { won, lost, failed, denied_budget } = hedges;
  return `${counts.join(", ")}; of the hedges ${whole(won)} won, ${whole(lost)} lost, ${whole(failed)} failed; ${whole(denied_budget)} more were denied by the budget`;
}

function extra(count, requests) {
  return `${count < 0 ? "−" : "+"}${whole(Math.abs(count))} (${percent(requests === 0 ? 0 : Math.abs(count) / requests)})`;
}

function tableOf(first, columns, entries, name) {
  return {
    headings: [[first, ""], ...columns.map(([heading, explanation]) => [heading, explanation])],
    rows: entries.map((entry) => [name(entry), ...columns.map(([, , text]) => text(entry))]),
  };
}
