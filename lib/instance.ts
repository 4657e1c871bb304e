import type { Clock } from "./clock";
import type { Leaves } from "./config";
import { DialCacheClosedError } from "./errors";
import { Figures } from "./figures";
import { expectReply, hub, type Listener } from "./hub";
import { Invalidations } from "./invalidations";
import type { DialCacheKey } from "./key";
import type { Logger } from "./logger";
import {
  DUE_HEDGE,
  DUE_HEDGE_DENIED,
  DUE_READ,
  DUE_READ_OVER,
  DUE_SHADOW,
  DUE_SOURCE,
  DUE_SOURCE_AWAIT_READ,
  FREED,
  type NativeEngine,
  NUMBER,
  NUMBER_BITS,
  OVER,
  RemoteKind,
  type Steps,
  stepsOf,
  TIMED_OUT,
  TIMER,
} from "./native";
import { connect, type Observers } from "./observers";
import type { ResolvedDialCacheOptions } from "./options";
import { policyOverlay } from "./policy-overlay";
import { nativeOf } from "./redis-client";
import type { DialCacheRedisClient } from "./redis-types";
import type { RemoteLayer } from "./remote-layer";
import { detached } from "./root";
import { DeadlineTimer, REAL_TIMERS } from "./timer";
import { UsedSources } from "./used-sources";

/** Who waits for what becomes of a flight. */
export interface Waiter {
  /** It is over, or about to be: see `Reply` in the binding. Called from native callbacks and timers, where no user code may run. */
  replied(reply: number, value: unknown): void;
  /** The read is still pending at its delay: its source is to start, or may not. Called as `replied` is. */
  delayOver?(granted: boolean): void;
  /** The source's deadline has passed. Its read may still bring a value when `awaitsRead`. Called as `replied` is. */
  sourceTimedOut?(awaitsRead: boolean): void;
  /** The Redis layer was turned off meanwhile. */
  closed(error: unknown): void;
}

/** A shadow validation under way. */
export interface Shadow {
  /** One of its deadlines has passed. Called from timers, where no user code may run. */
  due(): void;
  /** The Redis layer was turned off meanwhile. */
  closed(): void;
}

/**
 * What JavaScript keeps for one engine: the live values, the promises of its flights, and who waits for what. Numbers of
 * slots and flights index these arrays; the engine hands them out.
 */
export class Instance implements Listener {
  readonly engine: NativeEngine;
  /** What is told of a leader's call, each for less than a method of the engine costs. */
  readonly steps: Steps;
  readonly clock: Clock | undefined;
  readonly figures: Figures;
  readonly observers: Observers;
  /** Sources that stand in place of functions. */
  readonly sources: UsedSources;
  readonly logger: Logger;
  readonly namespace: string;
  readonly localMaxSize: number;
  readonly localTimings: boolean;
  /** Asks the config provider; undefined without one. */
  readonly provider: ((key: DialCacheKey) => Leaves | undefined | Promise<Leaves | undefined>) | undefined;
  /** Undefined without Redis, and after `close()`. */
  remote: RemoteLayer | undefined;
  /** Undefined without Redis. */
  readonly client: DialCacheRedisClient | undefined;

  /** Settled promises of local values, by slot: handing one out costs less than making one. */
  readonly slots: (Promise<unknown> | undefined)[] = [];
  /** Promises that may be joined, by flight. */
  readonly flights: (Promise<unknown> | undefined)[] = [];
  /** Who waits, by flight. */
  readonly waiting: (Waiter | undefined)[] = [];

  /** Shadow validations that have no outcome yet, by number. */
  readonly shadows = new Map<number, Shadow>();
  readonly shadowMaxInFlight: number;

  /** Whether `close()` was called. */
  closed = false;
  readonly invalidations = new Invalidations();

  readonly #timer: DeadlineTimer;
  #number = -1;
  #pendingWrites = 0;
  #nativeReads = 0;
  #drained: (() => void)[] = [];

  constructor(
    options: ResolvedDialCacheOptions,
    remote: RemoteLayer | undefined,
    clock: Clock | undefined,
    logger: Logger,
  ) {
    this.clock = clock;
    this.logger = logger;
    this.namespace = options.namespace;
    this.localMaxSize = options.localMaxSize;
    this.localTimings = options.localTimings;
    this.shadowMaxInFlight = options.shadowMaxInFlight;
    this.provider = policyOverlay(options.cacheConfigProvider);
    this.remote = remote;
    this.client = remote?.client;
    const kind = remote === undefined ? RemoteKind.None : remote.native ? RemoteKind.Native : RemoteKind.JavaScript;
    const compression = remote?.compression;
    this.engine = hub.engine({
      namespace: options.namespace,
      localMaxSize: options.localMaxSize,
      tinyLfu: options.localPolicy === "tinyLfu",
      remote: kind,
      installedClock: clock !== undefined,
      shadowMaxInFlight: options.shadowMaxInFlight,
      observed: options.metrics !== undefined,
      ...(compression === undefined ? {} : { compression }),
    });
    this.steps = stepsOf(this.engine);
    this.figures = new Figures(options.namespace, this.engine.counters());
    const native = nativeOf(remote?.client);
    if (remote?.native === true && native !== undefined) this.#number = this.engine.attach(native);
    this.#timer = new DeadlineTimer(this.engine, clock, () => this.#due());
    this.observers = connect(options.metrics, this.figures, this);
    this.sources = new UsedSources(options.metrics);
  }

  /** Monotonic milliseconds. */
  now(): number {
    return this.clock === undefined ? performance.now() : this.clock.now();
  }

  /** Milliseconds since the Unix epoch. */
  wallNow(): number {
    return this.clock === undefined ? Date.now() : this.clock.wallNow();
  }

  /** Brings an installed clock's time to the engine. To be called before the engine is told anything. */
  tick(): void {
    if (this.clock !== undefined) this.engine.setNow(this.clock.now());
  }

  /** Sets the timer as the engine wants it. */
  syncTimer(): void {
    if (this.steps.timerChanged() !== 0) this.#timer.sync();
  }

  /** Sets the timer: the engine has answered that it wants another one. */
  setTimer(): void {
    this.#timer.sync();
  }

  /** Keeps an accepted value where the engine put it. */
  keep(slot: number, value: unknown): void {
    this.slots[slot] = detached(value);
  }

  /** Does what the engine's answer asks for: keeps a value in the slot it chose, if it chose one. */
  place(packed: number, value: unknown): void {
    const slot = packed & NUMBER;
    if (slot !== NUMBER) this.keep(slot, value);
    if ((packed & FREED) !== 0) this.dropFreed();
    if ((packed & TIMER) !== 0) this.syncTimer();
  }

  /** Nobody joins or wakes a flight any more. Its number may be another's already. */
  end(flight: number, promise: Promise<unknown>, waiter: Waiter): void {
    if (this.flights[flight] === promise) this.flights[flight] = undefined;
    if (this.waiting[flight] === waiter) this.waiting[flight] = undefined;
  }

  /** Drops the values of freed slots, which the engine then uses again. */
  dropFreed(): void {
    for (const slot of this.engine.takeFreed()) this.slots[slot] = undefined;
  }

  /** The native client reads or writes for a flight. */
  requested(read: boolean): void {
    if (read) this.#nativeReads += 1;
    expectReply(this.#number, this);
  }

  replied(flight: number, reply: number, value: unknown): void {
    this.waiting[flight]?.replied(reply, value);
  }

  delayOver(flight: number, granted: boolean): void {
    this.waiting[flight]?.delayOver?.(granted);
  }

  /** A leader no longer waits for the native client. */
  readOver(): void {
    this.#nativeReads -= 1;
  }

  /** Deadlines armed here and on the native thread. */
  get armedTimers(): number {
    return this.engine.gauges().timers + (this.clock === undefined ? this.#nativeReads : 0);
  }

  get pendingWrites(): number {
    return this.#pendingWrites;
  }

  writeBegun(): void {
    this.#pendingWrites += 1;
  }

  writeEnded(): void {
    this.#pendingWrites -= 1;
    if (this.#pendingWrites > 0 || this.#drained.length === 0) return;
    const drained = this.#drained;
    this.#drained = [];
    for (const resolve of drained) resolve();
  }

  /** Resolves with true once no write is pending, with false after `timeoutMs` milliseconds. */
  drain(timeoutMs: number): Promise<boolean> {
    if (this.#pendingWrites === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timers = this.clock ?? REAL_TIMERS;
      const drained = (): void => {
        timers.clearTimeout(handle);
        resolve(true);
      };
      const handle = timers.setTimeout(() => {
        this.#drained = this.#drained.filter((other) => other !== drained);
        resolve(false);
      }, timeoutMs);
      this.#drained.push(drained);
    });
  }

  /** Turns the Redis layer off; pending reads fail. */
  close(): void {
    this.closed = true;
    if (this.remote === undefined) return;
    this.remote = undefined;
    this.tick();
    const error = new DialCacheClosedError();
    for (const flight of this.engine.closeRemote()) this.waiting[flight]?.closed(error);
    for (const shadow of this.shadows.values()) shadow.closed();
    this.syncTimer();
  }

  #told(kind: number, number: number): void {
    const waiter = this.waiting[number];
    switch (kind) {
      case DUE_READ:
        waiter?.replied(TIMED_OUT, undefined);
        break;
      case DUE_READ_OVER:
        waiter?.replied(OVER, undefined);
        break;
      case DUE_HEDGE:
      case DUE_HEDGE_DENIED:
        waiter?.delayOver?.(kind === DUE_HEDGE);
        break;
      case DUE_SOURCE:
      case DUE_SOURCE_AWAIT_READ:
        waiter?.sourceTimedOut?.(kind === DUE_SOURCE_AWAIT_READ);
        break;
      case DUE_SHADOW:
        this.shadows.get(number)?.due();
        break;
      default:
        this.flights[number] = undefined;
    }
  }

  #due(): void {
    this.tick();
    for (let due = this.engine.popDue(); due >= 0; due = this.engine.popDue()) {
      this.#told(due >> NUMBER_BITS, due & NUMBER);
    }
    this.#timer.sync();
  }
}
