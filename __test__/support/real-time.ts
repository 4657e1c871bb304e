// Captured at import, so that a test's fake timers never stop the support code.
const realSetTimeout = setTimeout;
const realSetImmediate = setImmediate;
const realNow = performance.now.bind(performance);

/** Resolves after one full turn of the event loop, so that I/O callbacks have run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    realSetImmediate(resolve);
  });
}

/** Lets `turns` turns of the event loop pass. */
export async function turns(count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) {
    await turn();
  }
}

/** Resolves after `ms` milliseconds of real time, whatever clock is installed. */
export function realDelay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    realSetTimeout(resolve, ms);
  });
}

/**
 * Resolves as soon as `condition` holds, looking once a turn of the event loop.
 *
 * @param what Named in the error when it never does.
 * @param limitMs Real milliseconds after which it rejects. Default 10,000: a safety net against
 *   hanging, not an expectation about speed.
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = 10_000,
): Promise<void> {
  const started = realNow();
  let looks = 0;
  while (!(await condition())) {
    if (realNow() - started > limitMs) {
      throw new Error(`never happened: ${what}`);
    }
    looks += 1;
    // The first looks are free; then yield the CPU, which the awaited server may need.
    await (looks < 50 ? turn() : realDelay(2));
  }
}

/** Keeps the event loop busy for `ms` milliseconds, as a long parse or a GC pause would. */
export function blockEventLoop(ms: number): void {
  const end = realNow() + ms;
  while (realNow() < end) {
    // Busy on purpose.
  }
}
