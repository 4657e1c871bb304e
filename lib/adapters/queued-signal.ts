/** Reads of one adapter that wait in one queue of the client, oldest first. */
type Queue = Set<QueuedRead>;

/** What differs between the versions of node-redis. */
export interface QueueRules {
  /** Version 4 says nobody when a command is sent, and leaves its listener on the signal. */
  readonly isSilent: boolean;
  /** Versions 5, 6.0 and 6.1 lose their queue when its first command is taken out, then the next one. */
  readonly keepsOldest: boolean;
}

/**
 * Stands between a read's signal and node-redis, which calls it as if it were that signal, so that an abort reaches the
 * client only when it can bear it.
 *
 * Version 4 would take a command that was sent out of a list that it is no longer in, then miscount its queue and fail in
 * `disconnect()` (node-redis#2465, #2498). Versions 5, 6.0 and 6.1 would lose every later command (node-redis#3320)
 * unless another one stands before that which is taken out: so of an adapter's reads the oldest is left there.
 * Neither must the client's listeners pile up on a signal that lives on.
 */
class QueuedRead {
  readonly #signal: AbortSignal;
  readonly #rules: QueueRules;
  readonly #queueOf: () => Queue | undefined;
  #queue: Queue | undefined;
  #takeOut: (() => void) | undefined;
  #wasQueued = false;

  constructor(signal: AbortSignal, rules: QueueRules, queueOf: () => Queue | undefined) {
    this.#signal = signal;
    this.#rules = rules;
    this.#queueOf = queueOf;
  }

  get aborted(): boolean {
    return this.#signal.aborted;
  }

  /** The client queues the command. */
  addEventListener(_type: "abort", listener: () => void): void {
    // After a redirection it is in a queue that nobody told us of.
    if (this.#wasQueued) return;
    this.#wasQueued = true;
    this.#queue = this.#queueOf();
    if (this.#queue === undefined) return;
    this.#queue.add(this);
    this.#takeOut = listener;
  }

  /** The client sends or drops the command. */
  removeEventListener(): void {
    this.leave();
  }

  leave(): void {
    this.#queue?.delete(this);
    this.#queue = undefined;
    this.#takeOut = undefined;
  }

  abort(): void {
    const takeOut = this.#takeOut;
    if (takeOut === undefined || (this.#rules.keepsOldest && this.#isOldest())) return;
    this.leave();
    takeOut();
  }

  #isOldest(): boolean {
    const [oldest] = this.#queue ?? [];
    return oldest === this;
  }
}

/** The reads of one adapter that wait in its client's queues. */
export class QueuedReads {
  readonly #rules: QueueRules;
  readonly #queues = new WeakMap<object, Queue>();

  constructor(rules: QueueRules) {
    this.#rules = rules;
  }

  /**
   * Sends a read that `signal` takes out of the client's queue again, if it still is there.
   *
   * @param connection - Asked when the command is queued for the object that stands for the connection it goes to;
   * undefined when that cannot be told, and the read must stay.
   * @param send - Sends the arguments with the given signal in the command's options.
   */
  async send<T>(
    args: readonly string[],
    signal: AbortSignal,
    connection: () => object | undefined,
    send: (args: string[], signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const read = new QueuedRead(signal, this.#rules, () => this.#queueOf(connection()));
    const abort = (): void => read.abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const watched = this.#rules.isSilent ? watchFirst(args, () => read.leave()) : [...args];
      return await send(watched, read as unknown as AbortSignal);
    } finally {
      signal.removeEventListener("abort", abort);
      read.leave();
    }
  }

  #queueOf(connection: object | undefined): Queue | undefined {
    if (connection === undefined) return undefined;
    const known = this.#queues.get(connection);
    if (known !== undefined) return known;
    const queue: Queue = new Set();
    this.#queues.set(connection, queue);
    return queue;
  }
}

/** A copy of `args` that tells when its first element is read, which is when the command is encoded to be sent. */
function watchFirst(args: readonly string[], read: () => void): string[] {
  const [first] = args;
  return Object.defineProperty([...args], 0, {
    configurable: true,
    enumerable: true,
    get() {
      read();
      return first;
    },
  });
}
