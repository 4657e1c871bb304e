/**
 * Open-loop traffic: users arrive when they arrive, whether or not earlier ones have been answered, and a latency counts from the moment the
 * user arrived by the plan, not from when the generator got round to it. So a stall is paid by everybody who came during it.
 */
import { seeded, zipf } from "./random.mjs";

/** Outcomes of a request, as stored in `outcome`. */
export const WAITING = 0;
export const HIT = 1;
export const LOADED = 2;
export const FAILED = 3;

/** The arrivals of a run: `atMs` (from its begin, rising) and `user` (Zipf), the same for the same seed. */
export function plan({ seed, ratePerSec, users, exponent }, durationMs) {
  const random = seeded(seed);
  const draw = zipf(users, exponent, random);
  const atMs = [];
  const user = [];
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random()) / ratePerSec) * 1_000;
    if (at >= durationMs) break;
    atMs.push(at);
    user.push(draw());
  }
  return { atMs: Float64Array.from(atMs), user: Uint32Array.from(user) };
}

/**
 * Sends the planned arrivals to `getUser`, with the user's id and the arrival's number. `now()` is in milliseconds from the run's begin. Resolves once the last was sent and all were
 * answered, or `drainMs` after the run's end; requests still open then stay WAITING, with their age as latency.
 *
 * `watch` gets the live record: `sent`, and per request `latencyMs`, `outcome`.
 */
export async function drive({ arrivals, durationMs, drainMs, getUser, loadsEnded, now, watch }) {
  const { atMs, user } = arrivals;
  const count = atMs.length;
  const record = {
    sent: 0,
    answered: 0,
    latencyMs: new Float64Array(count),
    outcome: new Uint8Array(count),
    firstError: undefined,
  };
  watch?.(record);

  return await new Promise((resolve) => {
    let closed = false;
    function finish() {
      if (closed) return;
      closed = true;
      clearTimeout(drainTimer);
      const end = now();
      for (let i = 0; i < count; i++) if (record.outcome[i] === WAITING) record.latencyMs[i] = end - atMs[i];
      resolve(record);
    }
    const drainTimer = setTimeout(finish, durationMs - now() + drainMs);

    async function send(index) {
      const id = `u${user[index]}`;
      const loadsBefore = loadsEnded();
      let outcome;
      try {
        const answer = await getUser(id, index);
        if (answer?.id !== id) throw new Error(`asked for ${id}, got ${answer?.id}`);
        outcome = answer.load <= loadsBefore ? HIT : LOADED;
      } catch (error) {
        outcome = FAILED;
        record.firstError ??= String(error?.stack ?? error);
      }
      if (closed) return;
      record.latencyMs[index] = now() - atMs[index];
      record.outcome[index] = outcome;
      record.answered++;
      if (record.answered === count) finish();
    }

    function pump() {
      const time = now();
      while (record.sent < count && atMs[record.sent] <= time) send(record.sent++);
      if (record.sent < count) setTimeout(pump, atMs[record.sent] - now());
    }
    pump();
  });
}
