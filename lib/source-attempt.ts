import type { Deadline } from "./deadline";
import type { AttemptKind, SourceContext } from "./source-types";

/** Kinds of attempts, in the engine's order. */
export const ATTEMPT_KINDS: readonly AttemptKind[] = ["primary", "hedge", "failover", "retry"];

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

  /** What the function is given. */
  context(deadline: () => Deadline | undefined): SourceContext {
    const signal = (): AbortSignal => this.#signal();
    return {
      get signal() {
        return signal();
      },
      attempt: this.number,
      kind: this.kind,
      endpoint: this.endpoint,
      get deadline() {
        return deadline();
      },
    };
  }

  abort(reason: unknown): void {
    if (this.#aborted !== undefined) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
  }

  #signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }
}
