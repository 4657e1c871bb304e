/** Whether `await` would wait for `value`. @throws whatever reading its `then` throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === "object" || typeof value === "function") &&
    value !== null &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/**
 * What `await` makes of `value`, as a promise of our own. `Promise.resolve()` hands a promise back as it is, with
 * whatever `then` it was given, and throws when its `constructor` does.
 */
export async function adopt<T>(value: T | PromiseLike<T>): Promise<T> {
  return await value;
}
