/** Runs contenders in turn, A B C A B C ..., in one process. */
import { stopwatch } from "./cpu.mjs";
import { isQuick } from "./quick.mjs";

const WARM_UP_SHARES = [0.1, 0.5, 1];
const QUICK = { rounds: 5, roundMs: 60 };

/**
 * @param contenders - `{ name, run(ops) }`: `run` resolves after that many operations. Each has its own loop, so that V8 optimizes it for this
 *   contender alone. A contender may fix its own number of operations per round with `ops`. One that no budget names has `extra: true` and is
 *   left out when it must be quick.
 * @param options - `rounds` of all contenders, and about how many milliseconds one contender runs in each.
 * @returns By name: nanoseconds per operation of each round: `wall`, `main` thread's CPU, `other` threads' CPU.
 */
export async function compare(contenders, { rounds = 7, roundMs = 150 } = {}) {
  if (isQuick) {
    rounds = Math.min(rounds, QUICK.rounds);
    roundMs = Math.min(roundMs, QUICK.roundMs);
  }
  const entries = [];
  for (const contender of contenders)
    if (!isQuick || !contender.extra) entries.push({ ...contender, ops: await warmUp(contender, roundMs) });
  const results = Object.fromEntries(entries.map(({ name }) => [name, { wall: [], main: [], other: [] }]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, run, ops } of entries) {
      globalThis.gc?.();
      const elapsed = stopwatch();
      await run(ops);
      const used = elapsed();
      for (const kind of Object.keys(used)) results[name][kind].push(used[kind] / ops);
    }
  }
  return results;
}

/** Lets V8 optimize the contender and answers how many operations fill a round. */
async function warmUp(contender, roundMs) {
  if (contender.ops !== undefined) {
    await contender.run(contender.ops);
    await contender.run(contender.ops);
    return contender.ops;
  }
  let ops = 64;
  for (const share of WARM_UP_SHARES) {
    for (;;) {
      const before = performance.now();
      await contender.run(ops);
      const ms = performance.now() - before;
      if (ms >= share * roundMs * 0.7) break;
      ops = Math.ceil(ops * Math.min(8, (share * roundMs) / Math.max(ms, 0.01)));
    }
  }
  return ops;
}
