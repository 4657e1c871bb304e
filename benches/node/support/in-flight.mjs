/** Keeps a number of calls under way. */

/** Makes `ops` calls of `call(op)`, always `width` of them in flight. */
export async function inFlight(width, ops, call) {
  let op = 0;
  const lane = async () => {
    while (op < ops) await call(op++);
  };
  await Promise.all(Array.from({ length: width }, lane));
}
