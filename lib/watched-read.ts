import { type ClientRead, keysOf, startClientRead } from "./client-io";
import { RedisReadTimeoutError } from "./errors";
import { LOAD, MISS, TIMED_OUT } from "./native";
import type { Span, SpanOutcome } from "./observers";
import type { Passage } from "./passage";
import type { RemoteLayer } from "./remote-layer";
import { stackless } from "./stackless";
import type { UseCase } from "./use-case";

const MS_PER_SECOND = 1_000;

const OUTCOMES: Readonly<Record<number, SpanOutcome>> = { [LOAD]: "hit", [MISS]: "miss", [TIMED_OUT]: "timeout" };

/** A leader's Redis read as others see it: observers, and the caller's client if that is who reads. */
export class WatchedRead {
  /** How its payload came out of the envelope. */
  passage: Passage | undefined;
  readonly #useCase: UseCase;
  readonly #since: number;
  #span: Span | undefined;
  #client: ClientRead | undefined;

  constructor(useCase: UseCase) {
    this.#useCase = useCase;
    this.#since = useCase.recorder.observed ? useCase.instance.now() : 0;
  }

  /** Whether the caller's client reads. */
  get isElsewhere(): boolean {
    return this.#client !== undefined;
  }

  /** Begins its span, when somebody traces, and runs `fn` in it. */
  begin(fn: () => void): void {
    this.#span = this.#useCase.recorder.span("read");
    if (this.#span === undefined) fn();
    else this.#span.run(fn);
  }

  /** Reads through the caller's client. */
  throughClient(
    remote: RemoteLayer,
    flight: number,
    settled: (result: number, value: unknown, passage: Passage | undefined) => void,
  ): void {
    const { readTimeoutMs } = this.#useCase;
    this.#client = startClientRead(remote.client, keysOf(this.#useCase, flight), readTimeoutMs, settled);
  }

  /** When the value it found was written, in milliseconds since the Unix epoch; undefined when nobody knows. */
  createdAtMs(flight: number): number | undefined {
    if (this.#client !== undefined) return this.#client.createdAtMs;
    return this.#useCase.instance.engine.createdAtMs(flight) ?? undefined;
  }

  /** Tells the caller's client that nobody waits any more. */
  abort(reason: unknown): void {
    this.#client?.abort(reason);
  }

  timeout(): RedisReadTimeoutError {
    const { name, readTimeoutMs } = this.#useCase;
    return stackless(() => new RedisReadTimeoutError(name, readTimeoutMs));
  }

  /** It is over, as a reply says. */
  replied(reply: number): void {
    this.ended(OUTCOMES[reply] ?? "error");
  }

  ended(outcome: SpanOutcome): void {
    this.#span?.end(outcome);
    this.#span = undefined;
  }

  failed(error: unknown): void {
    this.#useCase.recorder.error("remote", "cache_read");
    this.#useCase.recorder.warn("the Redis read failed, the source runs instead", error);
  }

  /** The Redis layer's part is over: the read and, after a hit, the serializer. */
  got(): void {
    const { recorder, instance } = this.#useCase;
    if (recorder.observed) recorder.got("remote", (instance.now() - this.#since) / MS_PER_SECOND);
  }
}
