import type { AnyFunction } from "./types";

/** A caller's call: what to run when nothing is cached. */
export interface Call {
  readonly fn: AnyFunction;
  readonly self: unknown;
  readonly args: unknown[];
}

/** A call as if there were no cache: always a promise, a synchronous throw rejects it. */
export function plainCall({ fn, self, args }: Call): Promise<unknown> {
  try {
    return Promise.resolve(Reflect.apply(fn, self, args));
  } catch (error) {
    return Promise.reject(error);
  }
}
