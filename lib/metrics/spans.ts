import type { Span, SpanKind, SpanOutcome, Tracing } from "../observers";

/** What is needed of OpenTelemetry's `Span`. */
export interface OpenTelemetrySpan {
  setAttribute(name: string, value: string): unknown;
  setStatus(status: { code: number }): unknown;
  end(): void;
}

/** What is needed of OpenTelemetry's `Tracer`. */
export interface OpenTelemetryTracer {
  startActiveSpan(
    name: string,
    options: { attributes: Record<string, string> },
    fn: (span: OpenTelemetrySpan) => void,
  ): unknown;
}

/** OpenTelemetry's code of a failure. */
const STATUS_ERROR = 2;

/** Spans of a leader's Redis read, source and Redis write, each active while its work is started. */
export function tracingWith(tracer: OpenTelemetryTracer): Tracing {
  return {
    span: (kind, { cacheNamespace, useCase, keyType }) =>
      new LeaderSpan(tracer, kind, { cache_namespace: cacheNamespace, use_case: useCase, key_type: keyType }),
  };
}

/** Whatever the tracer does, the work is done once, and its result or error is handed on. */
class LeaderSpan implements Span {
  readonly #tracer: OpenTelemetryTracer;
  readonly #kind: SpanKind;
  readonly #attributes: Record<string, string>;
  #span: OpenTelemetrySpan | undefined;

  constructor(tracer: OpenTelemetryTracer, kind: SpanKind, attributes: Record<string, string>) {
    this.#tracer = tracer;
    this.#kind = kind;
    this.#attributes = attributes;
  }

  run<T>(fn: () => T): T {
    let done: { readonly value: T } | { readonly error: unknown } | undefined;
    const once = (): void => {
      if (done !== undefined) return;
      try {
        done = { value: fn() };
      } catch (error) {
        done = { error };
      }
    };
    ignoreErrors(() => {
      this.#tracer.startActiveSpan(`dialcache.${this.#kind}`, { attributes: this.#attributes }, (span) => {
        this.#span = span;
        once();
      });
    });
    once();
    const result = done as unknown as { readonly value: T } | { readonly error: unknown };
    if ("error" in result) throw result.error;
    return result.value;
  }

  end(outcome: SpanOutcome): void {
    const span = this.#span;
    if (span === undefined) return;
    ignoreErrors(() => span.setAttribute("outcome", outcome));
    // No message and no exception event: they may hold keys and values.
    if (outcome === "error" || outcome === "timeout") ignoreErrors(() => span.setStatus({ code: STATUS_ERROR }));
    ignoreErrors(() => span.end());
  }
}

function ignoreErrors(fn: () => void): void {
  try {
    fn();
  } catch {
    // A tracer's failure is never the caller's.
  }
}
