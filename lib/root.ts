import { AsyncResource } from "node:async_hooks";

const root = new AsyncResource("DialCache", { requireManualDestroy: true });

/**
 * Runs `fn` in the async context this package was loaded in.
 *
 * Before Node 24 every promise and timer keeps the context it was made in alive. One that outlives its call (a cached
 * value, an instance's timer) must therefore not be made in a request's context, or it keeps that request.
 */
export function inRootContext<Args extends unknown[], Result>(fn: (...args: Args) => Result, ...args: Args): Result {
  return root.runInAsyncScope(fn, undefined, ...args);
}

/** A settled promise that keeps nothing but its value. */
export function detached(value: unknown): Promise<unknown> {
  return inRootContext(settled, value);
}

function settled(value: unknown): Promise<unknown> {
  const promise = Promise.resolve(value);
  // Rejected when reading the value's `then` throws, as it does for a revoked proxy: that concerns who gets it, later.
  promise.then(ignore, ignore);
  return promise;
}

function ignore(): void {}
