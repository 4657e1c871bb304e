/** The demo from the first server to the verdict. */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { recoveries } from "./bins.mjs";
import { endAll, release } from "./children.mjs";
import { DRAIN_MS, READ_TIMEOUT_MS, TRAFFIC, timetable } from "./phases.mjs";
import { progressOn } from "./progress.mjs";
import { report } from "./report.mjs";
import { runVariant, startSource } from "./run.mjs";
import { failures, summarise, wantedHitRatio } from "./stats.mjs";
import { duration, table } from "./table.mjs";
import { TAIL_SECONDS, tail, tailFigures } from "./tail/index.mjs";

/** The variants of the first part in the order in which they run. */
export const TITLES = { plain: "node-redis cache-aside", dialcache: "dialcache-native" };

/**
 * Runs the variants, then the second part when `withTail` says so, writes the report and resolves to the exit code: 1 when this package did
 * not keep what it promises.
 */
export async function demo({ json, reportFile, variants, withTail }) {
  const progress = progressOn(process.stdout);
  const phasesSeconds = Math.round((timetable().at(-1).endMs + DRAIN_MS) / 1_000) * variants.length;
  progress.say(
    `${TRAFFIC.ratePerSec} requests/s over ${TRAFFIC.users} users (Zipf), source 30-80 ms, read deadline ${READ_TIMEOUT_MS} ms; about ${phasesSeconds + (withTail ? TAIL_SECONDS : 0)} s in all`,
  );
  const runs = variants.length > 0 ? await outage(variants, progress) : [];
  const ours = runs.find(({ variant }) => variant === "dialcache");
  const tailRun = withTail ? await tail(progress) : undefined;
  endAll();

  const verdicts = [ours && judge(ours), tailRun?.verdict].filter((verdict) => verdict !== undefined);
  writeFileSync(reportFile, report(runs, verdicts, tailRun));
  progress.say(`\nReport: ${relative(process.cwd(), reportFile)}`);
  for (const { kept, failed, text } of verdicts) {
    progress.say(kept ? `OK: ${text}` : failed.map((line) => `FAILED ${line}`).join("\n"));
  }
  if (json) progress.say(JSON.stringify({ ...figures(ours.summary), ...(tailRun && { tail: tailFigures(tailRun) }) }));
  return verdicts.every(({ kept }) => kept) ? 0 : 1;
}

/** The first part: each variant through all phases, one after the other. */
async function outage(variants, progress) {
  const source = await startSource();
  const runs = [];
  for (const variant of variants) {
    progress.variant(TITLES[variant]);
    const run = await runVariant(variant, source, progress);
    runs.push({ ...run, title: TITLES[variant], summary: summarise(run) });
  }
  release(source);
  const ours = runs.find(({ variant }) => variant === "dialcache");
  if (ours) shareBounds(runs, ours);
  for (const { title, summary, warnings } of runs) {
    progress.say(`\n${title}\n${table(summary).join("\n")}`);
    if (warnings.count > 0) progress.say(`${warnings.count} warnings were logged, the first: ${warnings.first}`);
  }
  return runs;
}

/** One bound for both: a herd on the source would otherwise widen the bound of the variant that caused it. */
function shareBounds(runs, ours) {
  for (const { summary } of runs) {
    for (const [i, phase] of summary.entries()) phase.boundMs = ours.summary[i].boundMs;
  }
}

function judge(ours) {
  const failed = failures(ours.summary, ours.firstError);
  const back = recoveries(ours, wantedHitRatio(ours.summary))
    .filter(({ afterMs }) => afterMs !== undefined)
    .map(({ name, afterMs }) => `${name}: within ${duration(afterMs)}`);
  const text = `no caller of ${ours.title} saw an error, p99 stayed within its bound in every phase, and the hit share came back by itself (${back.join(", ")}).`;
  return { kept: failed.length === 0, failed, text };
}

function figures(summary) {
  const round = (number, digits) => Number(number.toFixed(digits));
  return {
    errors: summary.reduce((total, { errors }) => total + errors, 0),
    phases: summary.map(({ name, requests, errors, hitRatio, p50Ms, p99Ms, boundMs }) => ({
      name,
      requests,
      errors,
      hitRatio: round(hitRatio, 4),
      p50Ms: round(p50Ms, 2),
      p99Ms: round(p99Ms, 2),
      boundMs: round(boundMs, 2),
    })),
  };
}
