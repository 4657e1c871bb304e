import { keysOf, writeThroughClient } from "./client-io";
import type { Instance, Waiter } from "./instance";
import { FENCED, PASSAGE, STALE, WRITE_FAILED } from "./native";
import type { Span, SpanOutcome } from "./observers";
import type { Passage } from "./passage";
import { checkedPayload } from "./payload";
import { failureError } from "./redis-client";
import type { RemoteLayer } from "./remote-layer";
import { adopt, isThenable } from "./thenable";
import type { UseCase } from "./use-case";

/** How a write through a caller's client ended, as the engine takes it. */
const WRITE_STORED = 0;
const WRITE_FENCED = 1;
const WRITE_REJECTED = 2;

const MS_PER_SECOND = 1_000;

function nothing(): void {}

/** An accepted value on its way to Redis. No failure of it reaches the caller, who has the value already. */
export class WriteBack implements Waiter {
  readonly #instance: Instance;
  readonly #useCase: UseCase;
  readonly #remote: RemoteLayer;
  readonly #flight: number;
  /** The leader's promise: the flight may still be joined. */
  readonly #promise: Promise<unknown>;
  readonly #value: unknown;
  readonly #since: number;
  #span: Span | undefined;
  #passage: Passage | undefined;
  /** Size of the payload, when somebody listens. */
  #bytes = 0;
  #next: () => void = nothing;
  #released = false;
  #resume: ((reply: number, value: unknown) => void) | undefined;

  constructor(useCase: UseCase, remote: RemoteLayer, flight: number, promise: Promise<unknown>, value: unknown) {
    this.#instance = useCase.instance;
    this.#useCase = useCase;
    this.#remote = remote;
    this.#flight = flight;
    this.#promise = promise;
    this.#value = value;
    this.#since = useCase.recorder.observed ? useCase.instance.now() : 0;
    useCase.instance.writeBegun();
  }

  /** Starts the serializer, before the caller is answered. */
  dump(): void {
    const dumped = (payload: unknown): void => this.#go(() => this.#dumped(payload));
    const failed = (error: unknown): void => this.#go(() => this.#dumpFailed(error));
    try {
      const payload: unknown = this.#useCase.serializer.dump(this.#value);
      if (isThenable(payload)) adopt(payload).then(dumped, failed);
      else dumped(payload);
    } catch (error) {
      failed(error);
    }
  }

  #go(next: () => void): void {
    if (this.#released) next();
    else this.#next = next;
  }

  /**
   * Goes on to Redis: once the caller is answered and Redis is known to have no value. What an asynchronous serializer
   * makes follows by itself.
   */
  write(): void {
    this.#released = true;
    const next = this.#next;
    this.#next = nothing;
    next();
  }

  /** Nothing is to be written after all, and nobody hears of a value that could not be dumped. */
  discard(): void {
    this.#next = nothing;
    this.#instance.end(this.#flight, this.#promise, this);
    this.#instance.writeEnded();
  }

  replied(reply: number, value: unknown): void {
    const resume = this.#resume;
    if (reply === STALE || resume === undefined) return;
    if (reply === PASSAGE) {
      this.#passage = value as Passage;
      return;
    }
    this.#resume = undefined;
    // At once: the next lookup may already be sent to the slot.
    if (reply !== WRITE_FAILED) this.#instance.place(value as number, this.#value);
    resume(reply, value);
  }

  /** A write under way goes on: its outcome is counted like any other. */
  closed(): void {}

  #dumped(dumped: unknown): void {
    const { recorder } = this.#useCase;
    if (recorder.observed) recorder.serialized("dump", (this.#instance.now() - this.#since) / MS_PER_SECOND);
    try {
      const payload = checkedPayload(dumped);
      if (recorder.observed) {
        this.#bytes = Buffer.byteLength(payload);
        recorder.size(this.#bytes);
      }
      this.#span = recorder.span("write");
      if (this.#span === undefined) this.#send(payload);
      else this.#span.run(() => this.#send(payload));
    } catch (error) {
      // Also something that only looked like a Buffer.
      this.#dumpFailed(error);
    }
  }

  #send(payload: string | Uint8Array): void {
    if (this.#remote.native) this.#writeNatively(payload as string | Buffer);
    else this.#writeThroughClient(payload);
  }

  #dumpFailed(error: unknown): void {
    this.#instance.tick();
    this.#instance.steps.dumpFailed(this.#flight);
    this.#useCase.recorder.error("remote", "serialization_dump");
    this.#useCase.recorder.warn("a value could not be serialized for Redis, it is not written", error);
    this.#over();
  }

  #writeNatively(payload: string | Buffer): void {
    const { engine, waiting } = this.#instance;
    waiting[this.#flight] = this;
    const failure = engine.write(this.#flight, payload, this.#instance.wallNow());
    if (failure !== null) {
      this.#failed(failureError(failure));
      return;
    }
    this.#instance.requested(false);
    // A continuation of the leader's: the native callback must not run what the metrics and the logger do.
    new Promise<[reply: number, value: unknown]>((resolve) => {
      this.#resume = (reply, value) => resolve([reply, value]);
    }).then(([reply, value]) => {
      if (this.#passage !== undefined) this.#useCase.recorder.sealed(this.#passage, this.#bytes);
      if (reply === WRITE_FAILED) this.#failed(failureError(value));
      else this.#over(reply === FENCED ? "fenced" : "ok");
    });
  }

  #writeThroughClient(payload: string | Uint8Array): void {
    const { engine, steps } = this.#instance;
    const request = { ...keysOf(this.#useCase, this.#flight), cacheTtlMs: engine.remoteTtlMs(this.#flight) };
    const settled = (result: number, over: () => void): void => {
      this.#instance.tick();
      this.#instance.place(steps.writeSettled(this.#flight, result), this.#value);
      over();
    };
    const sealed = (passage: Passage): void => {
      steps.sealed(this.#flight, passage.outcome);
      this.#useCase.recorder.sealed(passage, this.#bytes);
    };
    writeThroughClient(this.#remote, request, payload, sealed).then(
      (stored) => {
        if (stored) settled(WRITE_STORED, () => this.#over("ok"));
        else settled(WRITE_FENCED, () => this.#over("fenced"));
      },
      (error: unknown) => settled(WRITE_REJECTED, () => this.#failed(error)),
    );
  }

  #failed(error: unknown): void {
    this.#useCase.recorder.error("remote", "cache_write");
    this.#useCase.recorder.warn("the Redis write failed", error);
    this.#over();
  }

  #over(outcome: SpanOutcome = "error"): void {
    this.#span?.end(outcome);
    this.#instance.end(this.#flight, this.#promise, this);
    this.#instance.syncTimer();
    this.#instance.writeEnded();
  }
}
