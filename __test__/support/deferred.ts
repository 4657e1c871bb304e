/** A promise settled from outside, by the test. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly settled: boolean;
  resolve(value: T | PromiseLike<T>): void;
  reject(reason: unknown): void;
}

export function deferred<T = void>(): Deferred<T> {
  let settle!: { resolve: (value: T | PromiseLike<T>) => void; reject: (reason: unknown) => void };
  let settled = false;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return {
    promise,
    get settled() {
      return settled;
    },
    resolve(value) {
      settled = true;
      settle.resolve(value);
    },
    reject(reason) {
      settled = true;
      settle.reject(reason);
    },
  };
}

/** A promise that never settles: what a frozen peer looks like from JavaScript. */
export function never<T = never>(): Promise<T> {
  return new Promise<T>(() => {});
}
