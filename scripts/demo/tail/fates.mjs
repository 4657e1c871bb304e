/** What an origin does with a call: the call's number alone says it, so both sides of a comparison meet the same. */
import { seeded } from "../random.mjs";

const USUAL_MS = { min: 30, max: 80 };
const SLOW_MS = { min: 500, max: 1_200 };
const FAILING_MS = { min: 2, max: 10 };
/** Keeps the calls' random numbers apart: odd, so that no two numbers become one. */
const STRIDE = 0x9e3779b1;

/** The status and the milliseconds of an answer, by the number of its call. */
export function fates({ seed, slowShare, failShare }) {
  return (call) => {
    const random = seeded(seed + Math.imul(call, STRIDE));
    const kind = random();
    if (kind < failShare) return { status: 503, ms: between(FAILING_MS, random()) };
    return { status: 200, ms: between(kind < failShare + slowShare ? SLOW_MS : USUAL_MS, random()) };
  };
}

function between({ min, max }, part) {
  return min + part * (max - min);
}
