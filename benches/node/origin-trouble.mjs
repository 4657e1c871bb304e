// Three origins over HTTP, one of which is delayed, frozen or answers 503, in turn and for a moment: what a caller sees of it, with failover
// alone and with hedging beside it.
//
// Calls come at 500 a second, whether or not earlier ones are answered (an open loop): each is timed from when it should have begun, so that a
// tail cannot hide behind calls that were not made.
import { setTimeout as sleep } from "node:timers/promises";
import { httpSource } from "../../index.mjs";
import { figure, quantile, ratio } from "./support/figures.mjs";
import { figuresOf, startOrigins } from "./support/origins.mjs";
import { workload } from "./support/workload.mjs";

const RATE = 500;
const WARM_UP_MS = 3_000;
const ROUND_MS = 18_000;
const ROUNDS = 3;
/** One origin is in trouble for so long, once in so long. The first one, which calls prefer, is one third of the time. */
const SPELL_MS = 250;
const EVERY_MS = 2_000;
const TROUBLES = ["delayed", "frozen", "failing"];
/** A spell that is not over when it should be is over by then. */
const SETTLE_MS = 1_500;

/**
 * Late enough that a healthy origin is hardly ever hedged. Calls come in at 500 a second and a spell makes all of them late: the burst is what it
 * takes to answer those in time, and the ratio what fills it up until the next one.
 */
const HEDGE = { delayMs: 50, budget: { ratio: 0.06, burst: 130 } };

function contender(name, origins, hedge) {
  return httpSource({
    name,
    endpoints: origins.map(({ url }) => url),
    path: (id) => `/users/${id}`,
    timeoutMs: 5_000,
    failover: {},
    ...(hedge === undefined ? {} : { hedge }),
  });
}

/** Calls at the rate, for so long; latencies in milliseconds of those that are answered, and how many are not. */
async function openLoop(users, ms) {
  const latencies = [];
  const pending = new Set();
  let failed = 0;
  const began = performance.now();
  for (let call = 0; call < (RATE * ms) / 1_000; call++) {
    const due = began + (call * 1_000) / RATE;
    const early = due - performance.now();
    if (early > 1) await sleep(early);
    const one = users(call)
      .then((response) => {
        latencies.push(performance.now() - due);
        return response.arrayBuffer();
      })
      .catch(() => {
        failed += 1;
      });
    pending.add(one);
    one.finally(() => pending.delete(one));
  }
  await Promise.all(pending);
  return { latencies, failed };
}

/** Has one origin after the other in trouble until `stop` says so. */
async function spells(origins, stop) {
  for (let spell = 0; !stop.aborted; spell++) {
    await sleep(EVERY_MS - SPELL_MS);
    const origin = origins[spell % origins.length];
    // Each origin meets each trouble: the origins are as many as the troubles, so the latter shift once round.
    origin.trouble(TROUBLES[(spell + Math.floor(spell / origins.length)) % TROUBLES.length]);
    await sleep(SPELL_MS);
    origin.trouble("none");
  }
}

async function round(users, origins, ms) {
  const before = { ...(await figuresOf(origins)), ...users.stats() };
  const stop = new AbortController();
  const troubled = spells(origins, stop.signal);
  const { latencies, failed } = await openLoop(users, ms);
  stop.abort();
  await troubled;
  await sleep(SETTLE_MS);
  const after = { ...(await figuresOf(origins)), ...users.stats() };
  const ended = (outcome) => {
    const of = ({ attempts }) => Object.values(attempts).reduce((sum, outcomes) => sum + outcomes[outcome], 0);
    return of(after) - of(before);
  };
  const settled = ended("ok") + ended("error");
  const givenUp = ended("cancelled") + ended("timeout");
  const calls = latencies.length + failed;
  return {
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    p999: quantile(latencies, 0.999),
    failed,
    extra: ((after.requests - before.requests) / calls - 1) * 100,
    givenUp,
    unsent: settled + givenUp - (after.requests - before.requests),
    crossed: after.answered - before.answered - settled,
    aborted: after.aborted - before.aborted,
    open: after.open,
    pending: after.pending + after.inFlight + after.timers,
  };
}

await workload("three origins over HTTP, one in trouble in turn", async (report) => {
  const unhandled = [];
  process.on("unhandledRejection", (reason) => unhandled.push(reason));
  const origins = await startOrigins(TROUBLES.length);
  const contenders = {
    "failover alone": contender("alone", origins),
    "failover and hedging": contender("hedged", origins, HEDGE),
  };
  const names = Object.keys(contenders);
  const rounds = Object.fromEntries(names.map((name) => [name, []]));
  for (const name of names) await openLoop(contenders[name], WARM_UP_MS);
  for (let number = 0; number < ROUNDS; number++) {
    for (const name of names) rounds[name].push(await round(contenders[name], origins, ROUND_MS));
  }
  const of = (name, what) => rounds[name].map((one) => one[what]);
  const total = (name, what) => of(name, what).reduce((sum, value) => sum + value, 0);
  report.table(
    `${RATE} calls/s, ${SPELL_MS} ms of trouble every ${EVERY_MS} ms, ${ROUNDS} rounds: ms from when a call was due to its headers`,
    ["", "p50", "p99", "p99.9", "extra requests %", "failed", "given up", "closed", "not sent yet", "answered"],
    names.map((name) => [
      name,
      figure(of(name, "p50")),
      figure(of(name, "p99")),
      figure(of(name, "p999")),
      figure(of(name, "extra")),
      total(name, "failed"),
      total(name, "givenUp"),
      total(name, "aborted"),
      total(name, "unsent"),
      total(name, "crossed"),
    ]),
  );
  const [alone, hedged] = names;
  report.note("Failovers are extra requests too: they are all of what failover alone costs.");
  report.note(
    "Attempts that were given up, by what their origin saw: the connection closed before the answer, no request because its connection was still " +
      "being made, or an answer that crossed with the end.",
  );
  report.measure("origins-p99", ratio(of(hedged, "p99"), of(alone, "p99")));
  report.measure("origins-extra", figure(of(hedged, "extra")));
  report.measure("origins-open", Math.max(...names.flatMap((name) => of(name, "open"))));
  report.measure("origins-pending", Math.max(...names.flatMap((name) => of(name, "pending"))));
  report.measure("origins-unhandled", unhandled.length);
});
