import { FallbackTimeoutError, HedgeLostError } from "./errors";
import type { Instance, Waiter } from "./instance";
import { load } from "./load";
import type { MetricLayer } from "./metrics";
import {
  FAILED,
  JOINABLE,
  LOAD,
  MISS,
  OVER,
  PASSAGE,
  READ,
  READ_ELSEWHERE,
  READ_REFUSED,
  REFUSED_AWAIT_READ,
  REFUSED_FAILED,
  REFUSED_STALE,
  REFUSED_TIMED_OUT_AWAIT_READ,
  SHADOWED_BESIDE_SOURCE,
  SHADOWED_WHEN_SERVED,
  SOURCE,
  STALE,
  TIMED_OUT,
  WRITE,
  WRITE_BACK,
} from "./native";
import type { Passage } from "./passage";
import { copyOf } from "./payload";
import type { Call } from "./plain-call";
import { failureError } from "./redis-client";
import type { RemoteLayer } from "./remote-layer";
import { beginShadow, type ShadowJob } from "./shadow";
import { SourceRun } from "./source-run";
import { stackless } from "./stackless";
import type { UseCase } from "./use-case";
import { WatchedRead } from "./watched-read";
import { WriteBack } from "./write-back";

/** What a leader waits for: one of them, or both when its read is hedged. Whatever else settles is late, and ignored. */
const NOTHING = 0;
const READING = 1;
const SOURCING = 2;

function nothing(): void {}

/**
 * One leader's call on its way through Redis read, serializer, source and write-back. The engine decides each step; this
 * runs user code, always in continuations of the leader's own call, so that it sees the caller's async context.
 */
export class Leader implements Waiter {
  /** What the caller and every follower get. */
  readonly promise: Promise<unknown>;
  readonly #instance: Instance;
  readonly #useCase: UseCase;
  readonly #flight: number;
  readonly #call: Call;
  /** Layer whose miss the source makes up for. */
  readonly #layer: MetricLayer;
  // Kept here, so that closing the instance does not change a call that is under way.
  readonly #remote: RemoteLayer | undefined;
  /** Whether the call is shadowed: one of the `SHADOWED_*` of the binding. */
  readonly #sample: number;
  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;

  #waitsFor = NOTHING;
  #answered = false;
  #resumeRead: (() => void) | undefined;
  #resumeDelay: ((granted: boolean) => void) | undefined;
  #resumeSource: ((awaitsRead: boolean) => void) | undefined;
  /** A reply whose continuation has not run yet. */
  #unread: (() => void) | undefined;
  #reply = FAILED as number;
  #value: unknown;
  #closedBy: unknown;
  /** Undefined for a leader that reads nothing. */
  #read: WatchedRead | undefined;
  /** Undefined until the source starts. */
  #run: SourceRun | undefined;
  /** The serializer is at work on what the read brought. */
  #loading = false;
  /** The source was started beside the read. */
  #hedged = false;
  /** The source has failed, and its error is the call's if the read brings nothing. */
  #sourceError: { readonly error: unknown } | undefined;
  /** The source was first: its value, until the read says whether it is to be written. */
  #outrun: WriteBack | undefined;
  /** Goes on with what the source brings. */
  #shadow: ShadowJob | undefined;

  constructor(useCase: UseCase, flight: number, layer: MetricLayer, call: Call, sample: number) {
    this.#instance = useCase.instance;
    this.#useCase = useCase;
    this.#flight = flight;
    this.#layer = layer;
    this.#call = call;
    this.#sample = sample;
    this.#remote = useCase.instance.remote;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /**
   * Begins as the engine said: with a read, or with the source.
   * @param tell - Tells observers of the lookup. They are user code, which may call the cache or close it: the flight
   *   can be joined and ended before they run.
   */
  start(kind: number, tell: () => void): void {
    const { engine, flights, waiting } = this.#instance;
    flights[this.#flight] = this.promise;
    waiting[this.#flight] = this;
    if (kind === SOURCE) {
      tell();
      this.#runSource();
      return;
    }
    if (kind === READ) this.#instance.requested(true);
    // The native thread keeps the deadlines of its reads, but no installed clock.
    const timedHere = kind !== READ || this.#instance.clock !== undefined;
    const refused = kind === READ_REFUSED ? failureError(engine.takeRefused()) : undefined;
    const read = new WatchedRead(this.#useCase);
    this.#read = read;
    this.#waitForRead().then(() => {
      const unread = this.#unread;
      if (unread !== undefined) this.#attempt(unread);
    });
    this.#unread = () => this.#readOver(read, kind, timedHere);
    if (this.#useCase.readHedgeMs !== undefined) this.#waitForDelay();
    if (timedHere) this.#instance.syncTimer();
    if (kind !== READ_ELSEWHERE) read.begin(nothing);
    tell();
    if (this.#waitsFor !== READING) return;
    if (kind === READ_ELSEWHERE) read.begin(() => this.#readThroughClient(read));
    else if (refused !== undefined) this.replied(FAILED, refused);
  }

  /**
   * The read is over. Called, like the two below, from a native callback or a timer: it only lets the leader's own
   * continuation run.
   */
  replied(reply: number, value: unknown): void {
    const resume = this.#resumeRead;
    if (reply === STALE || resume === undefined) return;
    if (reply === PASSAGE) {
      if (this.#read !== undefined) this.#read.passage = value as Passage;
      return;
    }
    this.#resumeRead = undefined;
    this.#waitsFor &= ~READING;
    this.#reply = reply;
    this.#value = value;
    resume();
  }

  delayOver(granted: boolean): void {
    const resume = this.#resumeDelay;
    this.#resumeDelay = undefined;
    resume?.(granted);
  }

  sourceTimedOut(awaitsRead: boolean): void {
    const resume = this.#resumeSource;
    if (resume === undefined) return;
    this.#resumeSource = undefined;
    this.#waitsFor &= ~SOURCING;
    resume(awaitsRead);
  }

  /** The Redis layer was turned off while the leader read. */
  closed(error: unknown): void {
    this.#closedBy = error;
    this.replied(this.#answered ? OVER : FAILED, error);
  }

  #waitForRead(): Promise<void> {
    this.#waitsFor |= READING;
    return new Promise((resolve) => {
      this.#resumeRead = resolve;
    });
  }

  #waitForDelay(): void {
    const delayed = new Promise<boolean>((resolve) => {
      this.#resumeDelay = resolve;
    });
    delayed.then((granted) => this.#attempt(() => this.#hedge(granted)));
  }

  /** The read is still pending at its delay. */
  #hedge(granted: boolean): void {
    if (!granted) this.#useCase.recorder.readHedged("denied");
    // Its reply may have come together with the permission.
    else if ((this.#waitsFor & READING) !== 0) this.#runSource();
  }

  #readThroughClient(read: WatchedRead): void {
    read.throughClient(this.#remote as RemoteLayer, this.#flight, (result, value, passage) => {
      if ((this.#waitsFor & READING) === 0) return;
      const { steps } = this.#instance;
      this.#instance.tick();
      const reply = steps.readSettled(this.#flight, result);
      if (reply === LOAD && passage !== undefined) {
        steps.opened(this.#flight, passage.outcome);
        read.passage = passage;
      }
      this.replied(reply, value);
      this.#instance.syncTimer();
    });
  }

  #readOver(read: WatchedRead, kind: number, timedHere: boolean): void {
    this.#unread = undefined;
    this.#resumeDelay = undefined;
    if (kind === READ) this.#instance.readOver();
    if (timedHere) this.#instance.syncTimer();
    if (this.#outrun !== undefined) this.#afterOutrun(read, this.#outrun);
    else this.#afterRead(read);
  }

  #afterRead(read: WatchedRead): void {
    read.replied(this.#reply);
    if (this.#reply === LOAD) {
      this.#load(read, this.#value as string | Buffer);
      return;
    }
    switch (this.#reply) {
      case MISS:
        this.#useCase.recorder.miss("remote");
        break;
      case TIMED_OUT: {
        const error = read.timeout();
        read.abort(error);
        read.failed(error);
        break;
      }
      default: {
        if (this.#closedBy !== undefined) read.abort(this.#closedBy);
        const known = this.#value instanceof Error || read.isElsewhere;
        read.failed(known ? this.#value : failureError(this.#value));
      }
    }
    read.got();
    this.#afterMiss();
  }

  /** The source has answered the call. What the read brings only says whether the value is to be written. */
  #afterOutrun(read: WatchedRead, writeBack: WriteBack): void {
    this.#outrun = undefined;
    read.ended("cancelled");
    if (this.#reply === WRITE_BACK) {
      this.#instance.waiting[this.#flight] = undefined;
      writeBack.write();
      return;
    }
    if (this.#closedBy !== undefined) read.abort(this.#closedBy);
    else if (this.#value === undefined) read.abort(read.timeout());
    this.#end();
    writeBack.discard();
  }

  /** The read brought no value. */
  #afterMiss(): void {
    if (this.#sourceError !== undefined) {
      this.#end();
      this.#answer(() => this.#reject(this.#sourceError?.error));
    } else if (this.#run === undefined) this.#runSource();
  }

  #answer(settle: () => void): void {
    this.#answered = true;
    settle();
  }

  #load(read: WatchedRead, payload: string | Buffer): void {
    const { recorder } = this.#useCase;
    const kept = this.#sample === SHADOWED_WHEN_SERVED ? copyOf(payload) : undefined;
    this.#loading = true;
    load(this.#useCase, payload, read.passage, {
      failed: (error, observe) => {
        // A source that ran beside the read may have been faster than an asynchronous serializer.
        if (this.#answered) return;
        this.#loading = false;
        observe();
        read.got();
        this.#instance.tick();
        this.#instance.steps.loadFailed(this.#flight);
        recorder.error("remote", "serialization_load");
        recorder.warn("the serializer rejected a payload, the source runs and replaces it", error);
        recorder.miss("remote");
        this.#afterMiss();
      },
      loaded: (value, observe) => {
        if (this.#answered) return;
        observe();
        read.got();
        const shadow = kept === undefined ? undefined : this.#shadowHit(read, kept);
        this.#instance.tick();
        this.#instance.place(this.#instance.steps.loaded(this.#flight), value);
        if (this.#hedged) this.#sourceLost();
        this.#end();
        this.#answer(() => this.#resolve(value));
        shadow?.start();
      },
      broken: this.#reject,
    });
  }

  /** The engine knows the flight only until it is told that its payload was loaded. */
  #shadowHit(read: WatchedRead, payload: string | Buffer): ShadowJob | undefined {
    const hit = { payload, createdAtMs: read.createdAtMs(this.#flight), call: this.#call };
    return beginShadow(this.#useCase, this.#remote as RemoteLayer, this.#flight, hit);
  }

  /** The read's hit was first: what the source makes is nobody's. */
  #sourceLost(): void {
    this.#useCase.recorder.readHedged("hit");
    if ((this.#waitsFor & SOURCING) === 0) return;
    this.#waitsFor = NOTHING;
    this.#resumeSource = undefined;
    this.#run?.ended("cancelled");
    this.#run?.abort(stackless(() => new HedgeLostError("The Redis read brought the value first")));
    this.#instance.syncTimer();
  }

  #runSource(): void {
    this.#instance.tick();
    this.#hedged = (this.#waitsFor & READING) !== 0;
    const timer = this.#instance.steps.sourceStarted(this.#flight);
    if (this.#sample === SHADOWED_BESIDE_SOURCE) {
      this.#shadow = beginShadow(this.#useCase, this.#remote as RemoteLayer, this.#flight);
      this.#shadow?.start();
    }
    this.#waitsFor |= SOURCING;
    if (this.#useCase.fallbackTimeoutMs !== undefined) {
      if (timer !== 0) this.#instance.setTimer();
      const timedOut = new Promise<boolean>((resolve) => {
        this.#resumeSource = resolve;
      });
      timedOut.then((awaitsRead) => this.#attempt(() => this.#afterSourceTimeout(awaitsRead)));
    }
    this.#run = new SourceRun(this.#useCase, this.#layer);
    this.#source(this.#run);
  }

  async #source(run: SourceRun): Promise<void> {
    let value: unknown;
    try {
      value = await run.begin(this.#call);
    } catch (error) {
      this.#attempt(() => this.#fail(error));
      return;
    }
    this.#attempt(() => this.#accept(value));
  }

  /** A step that a bug may end: the caller must not be left waiting. One promise less than a `catch()` behind it. */
  #attempt(step: () => void): void {
    try {
      step();
    } catch (bug) {
      this.#reject(bug);
    }
  }

  /** The source is over. False when nobody waits for it. */
  #settleSource(): boolean {
    if ((this.#waitsFor & SOURCING) === 0) return false;
    // A reply that came before is to be seen before: it may have been the call's answer.
    if ((this.#waitsFor & READING) === 0) this.#unread?.();
    if ((this.#waitsFor & SOURCING) === 0) return false;
    this.#waitsFor &= ~SOURCING;
    this.#resumeSource = undefined;
    this.#instance.tick();
    return true;
  }

  #accept(value: unknown): void {
    if (!this.#settleSource()) return;
    const packed = this.#instance.steps.sourceSettled(this.#flight, 1);
    if (packed < 0) {
      this.#refused(packed);
      return;
    }
    this.#instance.place(packed, value);
    this.#run?.over("ok");
    if (this.#hedged && this.#outruns(packed, value)) return;
    if ((packed & WRITE) === 0) {
      this.#shadow?.accepted(value);
      this.#end();
      this.#answer(() => this.#resolve(value));
      return;
    }
    this.#instance.waiting[this.#flight] = undefined;
    this.#writeBack(packed, value).write();
  }

  /** Whether the source was faster than the read beside it. Then the flight goes on until the read is over. */
  #outruns(packed: number, value: unknown): boolean {
    const isReading = this.#instance.steps.reading(this.#flight) !== 0;
    if (isReading || this.#loading) this.#useCase.recorder.readHedged("outrun");
    if (isReading) this.#outrun = this.#writeBack(packed, value);
    return isReading;
  }

  /** Starts the serializer and answers the caller. */
  #writeBack(packed: number, value: unknown): WriteBack {
    if ((packed & JOINABLE) === 0) this.#instance.flights[this.#flight] = undefined;
    const writeBack = new WriteBack(this.#useCase, this.#remote as RemoteLayer, this.#flight, this.promise, value);
    writeBack.dump();
    this.#answer(() => this.#resolve(value));
    return writeBack;
  }

  #fail(error: unknown): void {
    if (!this.#settleSource()) return;
    const packed = this.#instance.steps.sourceSettled(this.#flight, 0);
    if (packed !== REFUSED_FAILED && packed !== REFUSED_AWAIT_READ) {
      this.#refused(packed);
      return;
    }
    this.#instance.syncTimer();
    this.#run?.over("error");
    this.#sourceFailed(error, packed === REFUSED_AWAIT_READ);
  }

  /** The engine says the deadline had passed, though no timer had fired yet. */
  #refused(packed: number): void {
    this.#instance.syncTimer();
    if (packed !== REFUSED_STALE) this.#afterSourceTimeout(packed === REFUSED_TIMED_OUT_AWAIT_READ);
  }

  #afterSourceTimeout(awaitsRead: boolean): void {
    const { name, fallbackTimeoutMs } = this.#useCase;
    const error = new FallbackTimeoutError(name, fallbackTimeoutMs as number);
    this.#run?.timeOut(error);
    this.#run?.over("timeout");
    this.#sourceFailed(error, awaitsRead);
  }

  #sourceFailed(error: unknown, awaitsRead: boolean): void {
    this.#useCase.recorder.error(this.#layer, "fallback", true);
    if (awaitsRead) {
      this.#useCase.recorder.readHedged("source_error");
      this.#sourceError = { error };
      return;
    }
    this.#end();
    this.#answer(() => this.#reject(error));
    this.#shadow?.sourceFailed();
  }

  #end(): void {
    this.#instance.end(this.#flight, this.promise, this);
  }
}
