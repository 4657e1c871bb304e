/** One variant through all phases: its own process, its own fresh redis-server, the common source. */
import { Child, hold, release } from "./children.mjs";
import { after, instant, millisBetween, orFail, until, within } from "./clock.mjs";
import { DRAIN_MS, TRAFFIC, timetable } from "./phases.mjs";
import { RedisServer } from "./servers.mjs";

const LEAD_IN_MS = 200;
const SET_UP_TIMEOUT_MS = 20_000;
const RESULT_GRACE_MS = 10_000;
const CLOSE_MS = 2_000;

/** Starts the source; `url` is where it listens. */
export async function startSource() {
  const source = hold(new Child("./source-server.mjs"));
  const { url } = await orFail(within(SET_UP_TIMEOUT_MS, source.next("listening")), "the source did not start");
  source.url = url;
  return source;
}

/**
 * Runs the variant and resolves to what happened: per request `atMs`, `latencyMs`, `outcome`; `warnings`; the phases' begin and end; and
 * the source's own log. `progress` is told of phases and, twice a second, of counts.
 */
export async function runVariant(variant, source, progress) {
  const phases = timetable();
  const durationMs = phases.at(-1).endMs;
  const redis = hold(await RedisServer.start());
  const worker = hold(new Child("./worker.mjs", variant));
  try {
    const reset = source.next("reset");
    source.send({ type: "reset", seed: TRAFFIC.seed });
    await reset;

    const ready = within(SET_UP_TIMEOUT_MS, worker.next("ready"));
    worker.send({
      type: "setup",
      redisUrl: redis.url,
      sourceUrl: source.url,
      traffic: TRAFFIC,
      durationMs,
      drainMs: DRAIN_MS,
    });
    await orFail(ready, `${variant} did not get ready`);

    const begin = after(instant(), LEAD_IN_MS);
    const result = worker.next("result");
    result.catch(() => {});
    worker.on("tick", ({ sent, answered }) => progress.tick({ atMs: millisBetween(begin, instant()), sent, answered }));
    worker.send({ type: "begin", at: String(begin) });
    for (const phase of phases) {
      // An early end of the worker is the run's failure now, not after the last phase.
      await Promise.race([until(after(begin, phase.beginMs)), result]);
      progress.phase(phase);
      await phase.enter(redis);
    }
    await Promise.race([until(after(begin, durationMs)), result]);
    const ended = await orFail(within(DRAIN_MS + RESULT_GRACE_MS, result), `${variant} did not report`);

    const report = source.next("report");
    source.send({ type: "report", from: String(begin) });
    const { requests } = await report;
    await worker.ended(CLOSE_MS);
    return { variant, ...ended, phases, durationMs, source: requests };
  } finally {
    release(worker);
    release(redis);
  }
}
