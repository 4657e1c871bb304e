/** One comparison from its service process to what happened there. */
import { Child, hold, release } from "../children.mjs";
import { after, instant, millisBetween, orFail, until, within } from "../clock.mjs";
import { DRAIN_MS } from "../phases.mjs";

const LEAD_IN_MS = 200;
const SET_UP_TIMEOUT_MS = 20_000;
const RESULT_GRACE_MS = 10_000;
const CLOSE_MS = 2_000;

/**
 * Sends the traffic to both sides and resolves to `begin`, the instant of its first moment; `atMs`; per side `latencyMs`, `outcome` and
 * `firstError`; and the sides' own `figures`. `onBegin` is called just before the first arrival.
 */
export async function compare(name, { places, traffic, durationMs, onBegin, progress }) {
  const worker = hold(new Child("./tail/worker.mjs", name));
  try {
    const ready = within(SET_UP_TIMEOUT_MS, worker.next("ready"));
    worker.send({ type: "setup", places, traffic, durationMs, drainMs: DRAIN_MS });
    await orFail(ready, `${name} did not get ready`);

    const begin = after(instant(), LEAD_IN_MS);
    const result = worker.next("result");
    result.catch(() => {});
    worker.on("tick", ({ sent, answered }) => progress.tick({ atMs: millisBetween(begin, instant()), sent, answered }));
    worker.send({ type: "begin", at: String(begin) });
    await Promise.race([until(begin), result]);
    onBegin?.();
    await Promise.race([until(after(begin, durationMs)), result]);
    const ended = await orFail(within(DRAIN_MS + RESULT_GRACE_MS, result), `${name} did not report`);
    await worker.ended(CLOSE_MS);
    return { ...ended, begin, durationMs };
  } finally {
    release(worker);
  }
}

/** What the process has logged since the instant `begin`. */
export async function logOf(child, begin) {
  const report = child.next("report");
  child.send({ type: "report", from: String(begin) });
  const { requests } = await report;
  return requests.filter(({ atMs }) => atMs >= 0);
}
