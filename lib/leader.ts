import { type ClientRead, keysOf, startClientRead } from "./client-io";
import { FallbackTimeoutError, RedisReadTimeoutError } from "./errors";
import type { Instance, Waiter } from "./instance";
import type { MetricLayer } from "./metrics";
import {
  FAILED,
  JOINABLE,
  LOAD,
  MISS,
  READ,
  READ_ELSEWHERE,
  READ_REFUSED,
  REFUSED_STALE,
  REFUSED_TIMED_OUT,
  SHADOWED_BESIDE_SOURCE,
  SHADOWED_WHEN_SERVED,
  SOURCE,
  STALE,
  TIMED_OUT,
  WRITE,
} from "./native";
import type { Span, SpanKind, SpanOutcome } from "./observers";
import { copyOf } from "./payload";
import type { Call } from "./plain-call";
import { failureError } from "./redis-client";
import type { RemoteLayer } from "./remote-layer";
import { beginShadow, type ShadowJob } from "./shadow";
import { stackless } from "./stackless";
import { adopt, isThenable } from "./thenable";
import type { UseCase } from "./use-case";
import { WriteBack } from "./write-back";

/** What a leader waits for. Whatever else settles meanwhile is late, and ignored. */
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
  #resume: (() => void) | undefined;
  #reply = FAILED as number;
  #value: unknown;
  #clientRead: ClientRead | undefined;
  #closedBy: unknown;
  #since = 0;
  #span: Span | undefined;
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
    this.#wait(READING).then(() => this.#attempt(() => this.#readOver(kind, timedHere)));
    if (timedHere) this.#instance.syncTimer();
    if (kind !== READ_ELSEWHERE) this.#inSpan("read", nothing);
    tell();
    if (this.#waitsFor !== READING) return;
    if (kind === READ_ELSEWHERE) this.#inSpan("read", () => this.#readThroughClient());
    else if (refused !== undefined) this.replied(FAILED, refused);
  }

  /**
   * What the leader waits for is over. Called from a native callback or a timer: it only lets the leader's own
   * continuation run.
   */
  replied(reply: number, value: unknown): void {
    const resume = this.#resume;
    if (reply === STALE || resume === undefined) return;
    this.#resume = undefined;
    this.#waitsFor = NOTHING;
    this.#reply = reply;
    this.#value = value;
    resume();
  }

  /** The Redis layer was turned off while the leader read. */
  closed(error: unknown): void {
    this.#closedBy = error;
    this.replied(FAILED, error);
  }

  #wait(what: number): Promise<void> {
    this.#waitsFor = what;
    if (this.#useCase.recorder.observed) this.#since = this.#instance.now();
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** Runs `fn` in a span that ends at `#endSpan`, when somebody traces. */
  #inSpan<T>(kind: SpanKind, fn: () => T): T {
    this.#span = this.#useCase.recorder.span(kind);
    return this.#span === undefined ? fn() : this.#span.run(fn);
  }

  #endSpan(outcome: SpanOutcome): void {
    this.#span?.end(outcome);
    this.#span = undefined;
  }

  #elapsed(): number {
    return (this.#instance.now() - this.#since) / MS_PER_SECOND;
  }

  #readThroughClient(): void {
    const remote = this.#remote as RemoteLayer;
    this.#clientRead = startClientRead(
      remote.client,
      keysOf(this.#useCase, this.#flight),
      this.#useCase.readTimeoutMs,
      (result, value) => {
        if (this.#waitsFor !== READING) return;
        this.#instance.tick();
        this.replied(this.#instance.steps.readSettled(this.#flight, result), value);
        this.#instance.syncTimer();
      },
    );
  }

  #readOver(kind: number, timedHere: boolean): void {
    if (kind === READ) this.#instance.readOver();
    if (timedHere) this.#instance.syncTimer();
    this.#afterRead();
  }

  #afterRead(): void {
    this.#endSpan(READ_OUTCOMES[this.#reply] ?? "error");
    if (this.#reply === LOAD) {
      this.#load(this.#value as string | Buffer);
      return;
    }
    switch (this.#reply) {
      case MISS:
        this.#useCase.recorder.miss("remote");
        break;
      case TIMED_OUT: {
        const { name, readTimeoutMs } = this.#useCase;
        const error = stackless(() => new RedisReadTimeoutError(name, readTimeoutMs));
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
    this.#runSource();
  }

  /** The Redis layer's part is over: the read and, after a hit, the serializer. */
  #got(): void {
    const { recorder } = this.#useCase;
    if (recorder.observed) recorder.got("remote", this.#elapsed());
  }

  #readFailed(error: unknown): void {
    this.#useCase.recorder.error("remote", "cache_read");
    this.#useCase.recorder.warn("the Redis read failed, the source runs instead", error);
  }

  #load(payload: string | Buffer): void {
    const { recorder, serializer } = this.#useCase;
    const since = recorder.observed ? this.#instance.now() : 0;
    const kept = this.#sample === SHADOWED_WHEN_SERVED ? copyOf(payload) : undefined;
    const done = (): void => {
      if (recorder.observed) recorder.serialized("load", (this.#instance.now() - since) / MS_PER_SECOND);
      this.#got();
    };
    const failed = (error: unknown): void => {
      done();
      this.#instance.tick();
      this.#instance.steps.loadFailed(this.#flight);
      recorder.error("remote", "serialization_load");
      recorder.warn("the serializer rejected a payload, the source runs and replaces it", error);
      recorder.miss("remote");
      this.#runSource();
    };
    const loaded = (value: unknown): void => {
      done();
      const shadow = kept === undefined ? undefined : this.#shadowHit(kept);
      this.#instance.tick();
      this.#instance.place(this.#instance.steps.loaded(this.#flight), value);
      this.#end();
      this.#resolve(value);
      shadow?.start();
    };
    let value: unknown;
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

  #runSource(): void {
    this.#instance.tick();
    const timer = this.#instance.steps.sourceStarted(this.#flight);
    if (this.#sample === SHADOWED_BESIDE_SOURCE) {
      this.#shadow = beginShadow(this.#useCase, this.#remote as RemoteLayer, this.#flight);
      this.#shadow?.start();
    }
    const timedOut = this.#wait(SOURCING);
    if (this.#useCase.fallbackTimeoutMs !== undefined) {
      if (timer !== 0) this.#instance.setTimer();
      timedOut.then(() => this.#attempt(() => this.#sourceTimedOut()));
    }
    this.#source();
  }

  async #source(): Promise<void> {
    const { fn, self, args } = this.#call;
    let value: unknown;
    try {
      value = await this.#inSpan("source", () => Reflect.apply(fn, self, args));
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

  #accept(value: unknown): void {
    if (this.#waitsFor !== SOURCING) return;
    this.#settleSource();
    const packed = this.#instance.steps.sourceSettled(this.#flight, 1);
    if (packed < 0) {
      this.#refused(packed);
      return;
    }
    this.#instance.place(packed, value);
    this.#observeSource("ok");
    if ((packed & WRITE) === 0) {
      this.#shadow?.accepted(value);
      this.#end();
      this.#resolve(value);
      return;
    }
    if ((packed & JOINABLE) === 0) this.#instance.flights[this.#flight] = undefined;
    this.#instance.waiting[this.#flight] = undefined;
    const writeBack = new WriteBack(this.#useCase, this.#remote as RemoteLayer, this.#flight, this.promise, value);
    writeBack.dump();
    this.#resolve(value);
    writeBack.write();
  }

  #fail(error: unknown): void {
    if (this.#waitsFor !== SOURCING) return;
    this.#settleSource();
    const packed = this.#instance.steps.sourceSettled(this.#flight, 0);
    if (packed === REFUSED_TIMED_OUT || packed === REFUSED_STALE) {
      this.#refused(packed);
      return;
    }
    this.#instance.syncTimer();
    this.#observeSource("error");
    this.#useCase.recorder.error(this.#layer, "fallback", true);
    this.#end();
    this.#reject(error);
    this.#shadow?.sourceFailed();
  }

  #settleSource(): void {
    this.#waitsFor = NOTHING;
    this.#resume = undefined;
    this.#instance.tick();
  }

  /** The engine says the deadline had passed, though no timer had fired yet. */
  #refused(packed: number): void {
    this.#instance.syncTimer();
    if (packed !== REFUSED_STALE) this.#sourceTimedOut();
  }

  #sourceTimedOut(): void {
    this.#observeSource("timeout");
    this.#useCase.recorder.error(this.#layer, "fallback", true);
    this.#end();
    this.#reject(new FallbackTimeoutError(this.#useCase.name, this.#useCase.fallbackTimeoutMs as number));
    this.#shadow?.sourceFailed();
  }

  #observeSource(outcome: SpanOutcome): void {
    this.#endSpan(outcome);
    if (this.#useCase.recorder.observed) this.#useCase.recorder.fellBack(this.#layer, this.#elapsed());
  }

  #end(): void {
    this.#instance.end(this.#flight, this.promise, this);
  }
}
