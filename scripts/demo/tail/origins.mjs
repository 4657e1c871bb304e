/** A slow, a failing and a healthy origin: the first one alone, and all three with the policies of a source. */
import { Child, hold, release } from "../children.mjs";
import { orFail, within } from "../clock.mjs";
import { compare, logOf } from "./compare.mjs";
import { callFigures } from "./figures.mjs";
import { ORIGINS } from "./settings.mjs";

const TITLES = { first: "first origin alone", policies: "hedging and failover" };
const START_TIMEOUT_MS = 20_000;

/** Runs the comparison; resolves to its sides as `compareReads` does, the load of each origin by side, and the source's events. */
export async function compareOrigins(progress) {
  const { traffic, durationMs, origins } = ORIGINS;
  const children = [];
  try {
    for (const [seed, { slowShare, failShare }] of origins.entries()) {
      children.push(
        hold(new Child("./tail/origin-server.mjs", String(seed + 1), String(slowShare), String(failShare))),
      );
    }
    const places = await Promise.all(children.map(listening));
    const run = await compare("origin", { places, traffic, durationMs, progress });
    const logs = await Promise.all(children.map((child) => logOf(child, run.begin)));
    const names = Object.keys(TITLES);
    const sides = names.map((name) => ({
      name,
      title: TITLES[name],
      latencyMs: run.sides[name].latencyMs,
      firstError: run.sides[name].firstError,
      ...callFigures(run.sides[name]),
    }));
    const load = origins.map(({ name }, i) => ({ name, ...originLoad(logs[i], names) }));
    return { sides, load, ...run.figures, warnings: run.warnings };
  } finally {
    for (const child of children) release(child);
  }
}

async function listening(child) {
  const { url } = await orFail(within(START_TIMEOUT_MS, child.next("listening")), "an origin did not start");
  return url;
}

/** An origin's log by side: requests it got, those it answered with a 503, and those whose caller had left before the answer. */
export function originLoad(log, names) {
  return Object.fromEntries(
    names.map((name) => {
      const mine = log.filter(({ side }) => side === name);
      const failed = mine.filter(({ status, aborted }) => status !== 200 && !aborted).length;
      return [name, { requests: mine.length, failed, aborted: mine.filter(({ aborted }) => aborted).length }];
    }),
  );
}
