import { type Failure, HEDGE, HEDGE_DENIED, Hub, NUMBER, NUMBER_BITS, PASSAGE } from "./native";

/** Who hears what became of an engine's requests. */
export interface Listener {
  /** Brings an installed clock's time to the engine before it is told anything. */
  tick(): void;
  /** A flight's request is over, or about to be: see `Reply` in the binding. */
  replied(flight: number, reply: number, value: unknown): void;
  /** A flight's read is still pending at its delay. */
  delayOver(flight: number, granted: boolean): void;
}

/** Who hears of a client's changes. */
export interface ClientListener {
  statusChanged(status: string): void;
  credentialsWanted(request: number): void;
}

/** Hears what became of a client's own request: see `Reply` in the binding. */
export type CallListener = (reply: number, value: unknown) => void;

/** Places of one event in a batch, and the targets that are no engine: see `batch.rs`. */
const PLACES = 2;
const CALL = 1 << 16;
const STATUS = CALL + 1;
const LOW_BITS = 0x1_0000_0000;

const clients = new Map<number, WeakRef<ClientListener>>();
const calls = new Map<number, CallListener>();
/** Instances with requests under way. The others are not held here, so that they can be collected. */
const listeners = new Map<number, { listener: Listener; requests: number }>();
let lastCall = 0;
/** Pieces of work on Node's thread pool. */
let tasks = 0;
let idlers: (() => void)[] = [];

/** This thread's lines to its I/O thread, which starts with the first native client. */
export const hub = new Hub(onWake, goOn);

/** An instance's engine has made a request: it is to hear what becomes of it. */
export function expectReply(number: number, listener: Listener): void {
  const entry = listeners.get(number);
  if (entry === undefined) listeners.set(number, { listener, requests: 1 });
  else entry.requests += 1;
}

/** A number for a client's request. */
export function nextCall(): number {
  lastCall = (lastCall + 1) & NUMBER;
  return lastCall;
}

/** A client has made the request of this number, unless it failed at once. */
export function expectCall(call: number, failure: Failure | null, listener: CallListener, failed: number): void {
  if (failure === null) calls.set(call, listener);
  else listener(failed, failure);
}

export function addClient(id: number, client: ClientListener): void {
  clients.set(id, new WeakRef(client));
  collected.register(client, id);
}

const collected = new FinalizationRegistry<number>((id) => clients.delete(id));

/** Native work that no request to Redis stands for. Whoever waits for idleness waits for it too. */
export function nativeTask<T>(work: Promise<T>): Promise<T> {
  tasks += 1;
  const over = (): void => {
    tasks -= 1;
    if (idlers.length > 0 && hub.rest()) answerIdlers();
  };
  work.then(over, over);
  return work;
}

/** Resolves when no native work is waited for. */
export function whenIdle(): Promise<void> {
  if (tasks === 0 && hub.waiting() === 0 && hub.rest()) return Promise.resolve();
  return new Promise((resolve) => idlers.push(resolve));
}

function answerIdlers(): void {
  if (tasks > 0 || hub.waiting() > 0) return;
  const waiting = idlers;
  idlers = [];
  for (const resolve of waiting) resolve();
}

function onWake(): void {
  for (const { listener } of listeners.values()) {
    try {
      listener.tick();
    } catch (error) {
      rethrowLater(error);
    }
  }
  try {
    dispatchAll(hub.drain());
  } finally {
    // Without this nothing would wake again. Not by a timer: tests replace them, and then wait for this.
    hub.later();
  }
}

/**
 * What is left or has come meanwhile, in a later turn: after timers and sockets had theirs. Not earlier, because the work
 * itself is done in continuations: only now are the replies there that came during it.
 */
function goOn(): void {
  if (!hub.rest()) hub.wake();
  else if (idlers.length > 0) answerIdlers();
}

function dispatchAll(events: unknown[]): void {
  for (let place = 0; place < events.length; place += PLACES) {
    const packed = events[place] as number;
    const low = packed >>> 0;
    const value = events[place + 1];
    // One listener's bug must not keep the others waiting: it surfaces as an uncaught exception of its own.
    try {
      dispatch((packed - low) / LOW_BITS, low & NUMBER, low >>> NUMBER_BITS, value);
    } catch (error) {
      rethrowLater(error);
    }
  }
}

function rethrowLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

function dispatch(target: number, number: number, reply: number, value: unknown): void {
  if (target < CALL) {
    const entry = listeners.get(target);
    if (entry === undefined) return;
    if (reply === HEDGE || reply === HEDGE_DENIED) {
      entry.listener.delayOver(number, reply === HEDGE);
      return;
    }
    if (reply !== PASSAGE) {
      entry.requests -= 1;
      if (entry.requests === 0) listeners.delete(target);
    }
    entry.listener.replied(number, reply, value);
  } else if (target === CALL) {
    const listener = calls.get(number);
    if (reply !== PASSAGE) calls.delete(number);
    listener?.(reply, value);
  } else {
    const client = clients.get(number)?.deref();
    if (target === STATUS) client?.statusChanged(value as string);
    else client?.credentialsWanted(value as number);
  }
}
