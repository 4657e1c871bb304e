/** Where an instance gets its time and timers from when it is not the real one. */
export interface Clock {
  /** Monotonic milliseconds, fractions allowed, any origin (zero is a time like any other). */
  now(): number;
  /** Milliseconds since the Unix epoch. */
  wallNow(): number;
  /** Calls `fn` once, `ms` milliseconds from now. */
  setTimeout(fn: () => void, ms: number): unknown;
  /** Takes back what `setTimeout` returned; unknown and spent handles are ignored. */
  clearTimeout(handle: unknown): void;
  /** Calls `fn` soon, without time passing. */
  setImmediate?(fn: () => void): unknown;
}

const installed: Required<Clock>[] = [];

const globals: Required<Clock> = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (handle) => clearTimeout(handle as NodeJS.Timeout | undefined),
  setImmediate: (fn) => setImmediate(fn),
};

/**
 * Makes instances created from now on ask `clock` for time and timers: deadlines, TTLs, windows and ages. Connection,
 * response and reconnect budgets stay real. Instances that already exist keep the clock they were created with.
 *
 * A function left out is the global one of the moment it is called, so `installClock()` is enough under vitest's,
 * jest's or sinon's fake timers, whether they are installed before or after this package is loaded.
 *
 * @returns A function that takes this clock away again; the one installed before it, or real time, is back.
 * @throws TypeError when a member is not a function.
 */
export function installClock(clock: Partial<Clock> = {}): () => void {
  const complete = completeClock(clock);
  installed.push(complete);
  return () => {
    const index = installed.lastIndexOf(complete);
    if (index !== -1) installed.splice(index, 1);
  };
}

/**
 * The clock installed last, or undefined for real time.
 * @internal
 */
export function installedClock(): Required<Clock> | undefined {
  return installed.at(-1);
}

function completeClock(clock: Partial<Clock>): Required<Clock> {
  if (typeof clock !== "object" || clock === null) throw new TypeError("installClock() takes an object of functions");
  const pick = <Name extends keyof Clock>(name: Name): Required<Clock>[Name] => {
    const member = clock[name];
    if (member === undefined) return globals[name];
    if (typeof member !== "function") throw new TypeError(`installClock(): ${name} must be a function`);
    // Looked up at each call: fake timers replace members, and `this` must stay the caller's object.
    return ((...args: never[]) => (clock[name] as (...args: never[]) => unknown)(...args)) as Required<Clock>[Name];
  };
  return {
    now: pick("now"),
    wallNow: pick("wallNow"),
    setTimeout: pick("setTimeout"),
    clearTimeout: pick("clearTimeout"),
    setImmediate: pick("setImmediate"),
  };
}
