interface Listeners {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

/** One listener for each signal, however many wait for it: Node warns of a leak from the eleventh on. */
const bySignal = new WeakMap<AbortSignal, Listeners>();

/**
 * Calls `callback` when `signal` aborts, which it has not yet.
 * @param callback - Must not throw.
 * @returns Takes it back. To be called once nobody waits any more: a signal may live as long as the process.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const { callbacks, listener } = bySignal.get(signal) ?? listen(signal);
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    bySignal.delete(signal);
    signal.removeEventListener("abort", listener);
  };
}

function listen(signal: AbortSignal): Listeners {
  const callbacks = new Set<() => void>();
  const listener = (): void => {
    for (const callback of callbacks) callback();
  };
  const listeners = { callbacks, listener };
  bySignal.set(signal, listeners);
  signal.addEventListener("abort", listener, { once: true });
  return listeners;
}
