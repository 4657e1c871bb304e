import type { Deadline } from "./deadline";
import type { AttemptKind, SourceContext } from "./source-types";

/** Kinds of attempts, in the engine's order. */
export const ATTEMPT_KINDS: readonly AttemptKind[] = ["primary", "hedge", "failover", "retry"];

/** What an attempt's function is given. Getters on a class: those of a literal would give each object a shape of its own. */
export class AttemptContext implements SourceContext {
  readonly attempt: number;
  readonly kind: AttemptKind;
  readonly endpoint: number;
  readonly #attempt: Attempt;
  readonly #operation: { readonly deadline: Deadline | undefined };

  constructor(attempt: Attempt, operation: { readonly deadline: Deadline | undefined }) {
    this.attempt = attempt.number;
    this.kind = attempt.kind;
    this.endpoint = attempt.endpoint;
    this.#attempt = attempt;
    this.#operation = operation;
  }

  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  get deadline(): Deadline | undefined {
    return this.#operation.deadline;
  }
}

/** One attempt of a call. */
export class Attempt {
  readonly number: number;
  readonly kind: AttemptKind;
  readonly endpoint: number;
  /** Neither settled nor cancelled: the engine waits to be told how it ends. */
  live = true;
  /** What it was rejected with, once it was. */
  failure: { readonly error: unknown } | undefined;
  value: unknown;
  // Made when the attempt looks at its signal: many functions never do.
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;

  constructor(number: number, kind: AttemptKind, endpoint: number) {
    this.number = number;
    this.kind = kind;
    this.endpoint = endpoint;
  }

  abort(reason: unknown): void {
    if (this.#aborted !== undefined) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }
}
