import { type ClientRead, keysOf, startClientRead } from "./client-io";
import { FallbackTimeoutError, HedgeLostError, RedisReadTimeoutError } from "./errors";
import type { Instance, Waiter } from "./instance";
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
import type { Span, SpanOutcome } from "./observers";
import type { Passage } from "./passage";
import { copyOf } from "./payload";
import type { Call } from "./plain-call";
import { failureError } from "./redis-client";
import type { RemoteLayer } from "./remote-layer";
import { beginShadow, type ShadowJob } from "./shadow";
import { type SourceCall, sourceCallOf } from "./source-call";
import { stackless } from "./stackless";
import { adopt, isThenable } from "./thenable";
import type { UseCase } from "./use-case";
import { WriteBack } from "./write-back";

/** What a leader waits for: one of them, or both when its read is hedged. Whatever else settles is late, and ignored. */
const NOTHING = 0;
const READING = 1;
const SOURCING = 2;

const MS_PER_SECOND = 1_000;

const READ_OUTCOMES: Readonly<Record<number, SpanOutcome>> = { [LOAD]: "hit", [MISS]: "miss", [TIMED_OUT]: "timeout" };

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
  #passage: Passage | undefined;
  #clientRead: ClientRead | undefined;
  #closedBy: unknown;
  #readSince = 0;
  #sourceSince = 0;
  #readSpan: Span | undefined;
  #sourceSpan: Span | undefined;
  #sourceStarted = false;
  /** The serializer is at work on what the read brought. */
  #loading = false;
  /** The source was started beside the read. */
  #hedged = false;
  /** Tells a source that nobody needs its result. */
  #abortSource: ((reason: unknown) => void) | undefined;
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
    this.#waitForRead().then(() => {
      const unread = this.#unread;
      if (unread !== undefined) this.#attempt(unread);
    });
    this.#unread = () => this.#readOver(kind, timedHere);
    if (this.#useCase.readHedgeMs !== undefined) this.#waitForDelay();
    if (timedHere) this.#instance.syncTimer();
    if (kind !== READ_ELSEWHERE) this.#inReadSpan(nothing);
    tell();
    if (this.#waitsFor !== READING) return;
    if (kind === READ_ELSEWHERE) this.#inReadSpan(() => this.#readThroughClient());
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
      this.#passage = value as Passage;
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
    if (this.#useCase.recorder.observed) this.#readSince = this.#instance.now();
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

  /** Runs `fn` in the span of the read, when somebody traces. */
  #inReadSpan<T>(fn: () => T): T {
    this.#readSpan = this.#useCase.recorder.span("read");
    return this.#readSpan === undefined ? fn() : this.#readSpan.run(fn);
  }

  #endReadSpan(outcome: SpanOutcome): void {
    this.#readSpan?.end(outcome);
    this.#readSpan = undefined;
  }

  #secondsSince(since: number): number {
    return (this.#instance.now() - since) / MS_PER_SECOND;
  }

  /** The read is still pending at its delay. */
  #hedge(granted: boolean): void {
    if (!granted) this.#useCase.recorder.readHedged("denied");
    // Its reply may have come together with the permission.
    else if ((this.#waitsFor & READING) !== 0) this.#runSource();
  }

  #readThroughClient(): void {
    const remote = this.#remote as RemoteLayer;
    this.#clientRead = startClientRead(
      remote.client,
      keysOf(this.#useCase, this.#flight),
      this.#useCase.readTimeoutMs,
      (result, value, passage) => {
        if ((this.#waitsFor & READING) === 0) return;
        const { steps } = this.#instance;
        this.#instance.tick();
        const reply = steps.readSettled(this.#flight, result);
        if (reply === LOAD && passage !== undefined) {
          steps.opened(this.#flight, passage.outcome);
          this.#passage = passage;
        }
        this.replied(reply, value);
        this.#instance.syncTimer();
      },
    );
  }

  #readOver(kind: number, timedHere: boolean): void {
    this.#unread = undefined;
    this.#resumeDelay = undefined;
    if (kind === READ) this.#instance.readOver();
    if (timedHere) this.#instance.syncTimer();
    this.#afterRead();
  }

  #afterRead(): void {
    if (this.#outrun !== undefined) {
      this.#afterOutrun(this.#outrun);
      return;
    }
    this.#endReadSpan(READ_OUTCOMES[this.#reply] ?? "error");
    if (this.#reply === LOAD) {
      this.#load(this.#value as string | Buffer);
      return;
    }
    switch (this.#reply) {
      case MISS:
        this.#useCase.recorder.miss("remote");
        break;
      case TIMED_OUT: {
        const error = this.#readTimeout();
        this.#clientRead?.abort(error);
        this.#readFailed(error);
        break;
      }
      default: {
        if (this.#closedBy !== undefined) this.#clientRead?.abort(this.#closedBy);
        const known = this.#value instanceof Error || this.#clientRead !== undefined;
        this.#readFailed(known ? this.#value : failureError(this.#value));
      }
    }
    this.#got();
    this.#afterMiss();
  }

  /** The source has answered the call. What the read brings only says whether the value is to be written. */
  #afterOutrun(writeBack: WriteBack): void {
    this.#outrun = undefined;
    this.#endReadSpan("cancelled");
    if (this.#reply === WRITE_BACK) {
      this.#instance.waiting[this.#flight] = undefined;
      writeBack.write();
      return;
    }
    if (this.#closedBy !== undefined) this.#clientRead?.abort(this.#closedBy);
    else if (this.#value === undefined) this.#clientRead?.abort(this.#readTimeout());
    this.#end();
    writeBack.discard();
  }

  #readTimeout(): RedisReadTimeoutError {
    const { name, readTimeoutMs } = this.#useCase;
    return stackless(() => new RedisReadTimeoutError(name, readTimeoutMs));
  }

  /** The read brought no value. */
  #afterMiss(): void {
    if (this.#sourceError !== undefined) {
      this.#end();
      this.#answer(() => this.#reject(this.#sourceError?.error));
    } else if (!this.#sourceStarted) this.#runSource();
  }

  #answer(settle: () => void): void {
    this.#answered = true;
    settle();
  }

  /** The Redis layer's part is over: the read and, after a hit, the serializer. */
  #got(): void {
    const { recorder } = this.#useCase;
    if (recorder.observed) recorder.got("remote", this.#secondsSince(this.#readSince));
  }

  #readFailed(error: unknown): void {
    this.#useCase.recorder.error("remote", "cache_read");
    this.#useCase.recorder.warn("the Redis read failed, the source runs instead", error);
  }

  #load(payload: string | Buffer): void {
    const { recorder, serializer } = this.#useCase;
    if (this.#passage !== undefined) recorder.opened(this.#passage);
    const since = recorder.observed ? this.#instance.now() : 0;
    const kept = this.#sample === SHADOWED_WHEN_SERVED ? copyOf(payload) : undefined;
    const done = (): void => {
      if (recorder.observed) recorder.serialized("load", (this.#instance.now() - since) / MS_PER_SECOND);
      this.#got();
    };
    const failed = (error: unknown): void => {
      // A source that ran beside the read may have been faster than an asynchronous serializer.
      if (this.#answered) return;
      this.#loading = false;
      done();
      this.#instance.tick();
      this.#instance.steps.loadFailed(this.#flight);
      recorder.error("remote", "serialization_load");
      recorder.warn("the serializer rejected a payload, the source runs and replaces it", error);
      recorder.miss("remote");
      this.#afterMiss();
    };
    const loaded = (value: unknown): void => {
      if (this.#answered) return;
      done();
      const shadow = kept === undefined ? undefined : this.#shadowHit(kept);
      this.#instance.tick();
      this.#instance.place(this.#instance.steps.loaded(this.#flight), value);
      if (this.#hedged) this.#sourceLost();
      this.#end();
      this.#answer(() => this.#resolve(value));
      shadow?.start();
    };
    let value: unknown;
    this.#loading = true;
    try {
      value = serializer.load(payload);
      if (isThenable(value)) {
        adopt(value).then(loaded, failed).catch(this.#reject);
        return;
      }
    } catch (error) {
      failed(error);
      return;
    }
    loaded(value);
  }

  /** The engine knows the flight only until it is told that its payload was loaded. */
  #shadowHit(payload: string | Buffer): ShadowJob | undefined {
    const known = this.#clientRead === undefined ? this.#instance.engine.createdAtMs(this.#flight) : undefined;
    const createdAtMs = this.#clientRead?.createdAtMs ?? known ?? undefined;
    const hit = { payload, createdAtMs, call: this.#call };
    return beginShadow(this.#useCase, this.#remote as RemoteLayer, this.#flight, hit);
  }

  /** The read's hit was first: what the source makes is nobody's. */
  #sourceLost(): void {
    this.#useCase.recorder.readHedged("hit");
    if ((this.#waitsFor & SOURCING) === 0) return;
    this.#waitsFor = NOTHING;
    this.#resumeSource = undefined;
    this.#sourceSpan?.end("cancelled");
    this.#sourceSpan = undefined;
    this.#abortSource?.(stackless(() => new HedgeLostError("The Redis read brought the value first")));
    this.#instance.syncTimer();
  }

  #runSource(): void {
    this.#instance.tick();
    this.#sourceStarted = true;
    this.#hedged = (this.#waitsFor & READING) !== 0;
    const timer = this.#instance.steps.sourceStarted(this.#flight);
    if (this.#sample === SHADOWED_BESIDE_SOURCE) {
      this.#shadow = beginShadow(this.#useCase, this.#remote as RemoteLayer, this.#flight);
      this.#shadow?.start();
    }
    this.#waitsFor |= SOURCING;
    if (this.#useCase.recorder.observed) this.#sourceSince = this.#instance.now();
    if (this.#useCase.fallbackTimeoutMs !== undefined) {
      if (timer !== 0) this.#instance.setTimer();
      const timedOut = new Promise<boolean>((resolve) => {
        this.#resumeSource = resolve;
      });
      timedOut.then((awaitsRead) => this.#attempt(() => this.#afterSourceTimeout(awaitsRead)));
    }
    this.#source();
  }

  async #source(): Promise<void> {
    const { fn, self, args } = this.#call;
    let value: unknown;
    try {
      this.#sourceSpan = this.#useCase.recorder.span("source");
      const source = sourceCallOf(fn);
      const run = (): unknown => (source === undefined ? Reflect.apply(fn, self, args) : this.#begin(source));
      value = await (this.#sourceSpan === undefined ? run() : this.#sourceSpan.run(run));
    } catch (error) {
      this.#attempt(() => this.#fail(error));
      return;
    }
    this.#attempt(() => this.#accept(value));
  }

  /** A source that stands in place of the function. */
  #begin(source: SourceCall): Promise<unknown> {
    const operation = source.begin(this.#call.args, this.#useCase.fallbackTimeoutMs);
    this.#abortSource = (reason) => operation.abort(reason);
    return operation.promise;
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
    this.#observeSource("ok");
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
    this.#observeSource("error");
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
    this.#abortSource?.(error);
    this.#observeSource("timeout");
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

  #observeSource(outcome: SpanOutcome): void {
    const { recorder } = this.#useCase;
    this.#sourceSpan?.end(outcome);
    this.#sourceSpan = undefined;
    if (recorder.observed) recorder.fellBack(this.#layer, this.#secondsSince(this.#sourceSince));
  }

  #end(): void {
    this.#instance.end(this.#flight, this.promise, this);
  }
}
