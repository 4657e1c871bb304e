/**
 * One clock for all processes of the demo: the system's monotonic clock, which every process on a machine reads alike.
 * An "instant" is its nanoseconds as a bigint; it crosses process borders as a string.
 */

/** The present instant. */
export const instant = () => process.hrtime.bigint();

/** Milliseconds (fractional) from instant `from` to instant `to`. */
export const millisBetween = (from, to) => Number(to - from) / 1e6;

/** The instant `millis` after `from`. */
export const after = (from, millis) => from + BigInt(Math.round(millis * 1e6));

/** Resolves once the instant has come; at once when it has passed. */
export async function until(at) {
  const wait = millisBetween(instant(), at);
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
}

/** Resolves to `{ value }` of the promise, or to `undefined` when it has not settled within `millis`. */
export async function within(millis, promise) {
  let timer;
  const expired = new Promise((resolve) => {
    timer = setTimeout(resolve, millis);
  });
  try {
    return await Promise.race([promise.then((value) => ({ value })), expired]);
  } finally {
    clearTimeout(timer);
  }
}

/** The value that `within` resolved to; throws an error with this message when there was none. */
export async function orFail(attempt, message) {
  const settled = await attempt;
  if (settled === undefined) throw new Error(message);
  return settled.value;
}
