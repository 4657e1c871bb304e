/** The second part of the demo: nothing is dead, something is slow. Each comparison has both of its sides at the same time. */
import { percent } from "../stats.mjs";
import { duration, textTable } from "../table.mjs";
import { tailFailures } from "./figures.mjs";
import { compareOrigins } from "./origins.mjs";
import { compareReads } from "./reads.mjs";
import { ORIGINS, READS } from "./settings.mjs";
import { eventsLine, loadTable, originsTable, readsTable, storiesTable } from "./tables.mjs";

/** About how long it takes, with its servers' start. */
export const TAIL_SECONDS = Math.round((READS.durationMs + ORIGINS.durationMs) / 1_000) + 6;

/** Runs both comparisons, prints them and resolves to `{ reads, origins, verdict }`. */
export async function tail(progress) {
  progress.variant("Reads that are late, but not dead");
  progress.phase({ name: "late", seconds: READS.durationMs / 1_000, what: lateText() });
  const reads = await compareReads(progress);
  print(progress, readsTable(reads));

  progress.variant("A slow, a failing and a healthy origin");
  progress.phase({ name: "origins", seconds: ORIGINS.durationMs / 1_000, what: originsText() });
  const origins = await compareOrigins(progress);
  print(progress, originsTable(origins));
  print(progress, loadTable(origins));
  progress.say(`\n${eventsLine(origins)}`);
  print(progress, storiesTable(origins));

  for (const { warnings } of [reads, origins]) {
    if (warnings.count > 0) progress.say(`${warnings.count} warnings were logged, the first: ${warnings.first}`);
  }
  return { reads, origins, verdict: judge(reads, origins) };
}

/** What is done to the replies of Redis. */
export function lateText() {
  const { late, readTimeoutMs } = READS;
  return `${percent(late.share)} of the replies come ${late.minMs}-${late.maxMs} ms late, the read deadline is ${readTimeoutMs} ms`;
}

/** What is the matter with each origin. */
export function originsText() {
  return ORIGINS.origins.map(({ name, what }) => `${name}: ${what}`).join("; ");
}

/** The figures for machines, by comparison and side. */
export function tailFigures({ reads, origins }) {
  const bySide = (sides, more) =>
    Object.fromEntries(sides.map((side) => [side.name, { ...common(side), ...more(side) }]));
  return {
    reads: bySide(reads.sides, ({ hitRatio, late, sourceCalls, readHedge }) => ({
      hitRatio: round(hitRatio, 4),
      lateReplies: late,
      sourceCalls,
      readHedge,
    })),
    origins: {
      ...bySide(origins.sides, ({ name }) => ({
        origins: Object.fromEntries(origins.load.map(({ name: origin, [name]: load }) => [origin, load])),
      })),
      events: origins.events,
    },
  };
}

function common({ requests, errors, p50Ms, p99Ms, worstMs }) {
  return { requests, errors, p50Ms: round(p50Ms, 2), p99Ms: round(p99Ms, 2), worstMs: round(worstMs, 2) };
}

const round = (number, digits) => Number(number.toFixed(digits));

function judge(reads, origins) {
  const [deadline, hedged] = reads.sides;
  const [first, policies] = origins.sides;
  const failed = [
    ...tailFailures("late reads", { without: deadline, hedged, strict: reads.sides }),
    ...tailFailures("origins in trouble", { without: first, hedged: policies, strict: [policies] }),
  ];
  const text = `hedging brought the p99 of late reads from ${duration(deadline.p99Ms)} to ${duration(hedged.p99Ms)}, and that of calls whose origin is slow from ${duration(first.p99Ms)} to ${duration(policies.p99Ms)}; no caller saw an error, where the first origin alone gave ${first.errors}.`;
  return { kept: failed.length === 0, failed, text };
}

function print(progress, { headings, rows }) {
  progress.say(`\n${textTable([headings.map(([heading]) => heading), ...rows]).join("\n")}`);
}
