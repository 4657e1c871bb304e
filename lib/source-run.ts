import type { MetricLayer } from "./metrics";
import type { Span, SpanOutcome } from "./observers";
import type { Call } from "./plain-call";
import { type SourceCall, sourceCallOf } from "./source-call";
import type { SourceOperation } from "./source-operation";
import type { UseCase } from "./use-case";

const MS_PER_SECOND = 1_000;

/** One run of a leader's source: the function, or the source that stands in its place, as observers see it. */
export class SourceRun {
  readonly #useCase: UseCase;
  /** Layer whose miss it makes up for. */
  readonly #layer: MetricLayer;
  readonly #since: number;
  #span: Span | undefined;
  #operation: SourceOperation | undefined;

  constructor(useCase: UseCase, layer: MetricLayer) {
    this.#useCase = useCase;
    this.#layer = layer;
    this.#since = useCase.recorder.observed ? useCase.instance.now() : 0;
  }

  /** Runs it, in a span when somebody traces. What it throws is thrown. */
  begin({ fn, self, args }: Call): unknown {
    this.#span = this.#useCase.recorder.span("source");
    const source = sourceCallOf(fn);
    const run = (): unknown => (source === undefined ? Reflect.apply(fn, self, args) : this.#operate(source, args));
    return this.#span === undefined ? run() : this.#span.run(run);
  }

  #operate(source: SourceCall, args: unknown[]): Promise<unknown> {
    this.#operation = source.begin(args, this.#useCase.fallbackTimeoutMs);
    return this.#operation.promise;
  }

  /** Tells a source that nobody needs its result. A plain function runs on. */
  abort(reason: unknown): void {
    this.#operation?.abort(reason);
  }

  /** As {@link SourceRun.abort}, because it took too long. */
  timeOut(error: Error): void {
    this.#operation?.timeOut(error);
  }

  /** It is over, and somebody waited for it. */
  over(outcome: SpanOutcome): void {
    const { recorder, instance } = this.#useCase;
    this.ended(outcome);
    if (recorder.observed) recorder.fellBack(this.#layer, (instance.now() - this.#since) / MS_PER_SECOND);
  }

  ended(outcome: SpanOutcome): void {
    this.#span?.end(outcome);
    this.#span = undefined;
  }
}
