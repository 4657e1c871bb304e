/** What node-redis 4 does with a signal: one listener for each time a command is queued. */
interface QueueSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void, options?: unknown): void;
}

/**
 * Runs a command of node-redis 4 so that an abort reaches it only while it is queued.
 *
 * That version leaves its listener on the signal when the command is sent. An abort afterwards would take the command
 * out of a list it is no longer in, after which the client miscounts its queue and fails in `disconnect()`; and on a
 * long-lived signal the listeners would pile up. It tells nobody that a command was sent, but reads the arguments then.
 *
 * @param signal - The read's.
 * @param send - Sends `args` with `signal` in the command's options.
 */
export async function whileQueued<T>(
  args: readonly (string | Buffer)[],
  signal: AbortSignal,
  send: (args: (string | Buffer)[], signal: AbortSignal) => Promise<T>,
): Promise<T> {
  let dequeue: (() => void) | undefined;
  const queueSignal: QueueSignal = {
    get aborted() {
      return signal.aborted;
    },
    addEventListener(_type, listener) {
      dequeue = listener;
    },
  };
  const abort = (): void => dequeue?.();
  signal.addEventListener("abort", abort, { once: true });
  try {
    const watched = watchFirst(args, () => {
      dequeue = undefined;
    });
    return await send(watched, queueSignal as unknown as AbortSignal);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** A copy of `args` that tells when its first element is read, which is when the command is encoded. */
function watchFirst(args: readonly (string | Buffer)[], read: () => void): (string | Buffer)[] {
  const [first, ...rest] = args as [string, ...(string | Buffer)[]];
  const watched: (string | Buffer)[] = [first, ...rest];
  return Object.defineProperty(watched, 0, {
    configurable: true,
    enumerable: true,
    get() {
      read();
      return first;
    },
  });
}
