import { AsyncLocalStorage } from "node:async_hooks";
import type { Awaitable } from "./serializer";

/** What the outermost `enable()` owns. `memo` is made on first use and dropped when the scope closes. */
export interface RequestScope {
  /** False once the callback of the outermost `enable()` has settled. */
  open: boolean;
  /** Request-local values and flights, by key. */
  memo: Map<unknown, unknown> | undefined;
}

interface Entry {
  readonly scope: RequestScope;
  readonly enabled: boolean;
}

/**
 * Whether caching is on for the running asynchronous call chain. Off until `enable()`; scopes follow the async context
 * and nest. Work that outlives the outermost `enable()` is off again: it cannot refill a scope that is gone.
 */
export class DialCacheContext {
  readonly #storage = new AsyncLocalStorage<Entry>();

  /** Runs `fn` with caching on. Resolves or rejects as `fn` does; a synchronous throw rejects. */
  async enable<T>(fn: () => Awaitable<T>): Promise<T> {
    requireFunction(fn, "enable");
    const outer = this.#live();
    if (outer !== undefined) return await this.#storage.run({ scope: outer, enabled: true }, fn);
    const scope: RequestScope = { open: true, memo: undefined };
    try {
      return await this.#storage.run({ scope, enabled: true }, fn);
    } finally {
      scope.open = false;
      scope.memo = undefined;
    }
  }

  /** Runs `fn` with caching off. Stored values stay; a nested `enable()` goes on with the outer scope. */
  async disable<T>(fn: () => Awaitable<T>): Promise<T> {
    requireFunction(fn, "disable");
    const outer = this.#live();
    if (outer === undefined) return await fn();
    return await this.#storage.run({ scope: outer, enabled: false }, fn);
  }

  /** Whether caching is on here and the scope that turned it on is still open. */
  isEnabled(): boolean {
    return this.current() !== undefined;
  }

  /**
   * The open, enabled scope of the running call chain: the one check every cached call makes.
   * @internal
   */
  current(): RequestScope | undefined {
    const entry = this.#storage.getStore();
    return entry?.enabled === true && entry.scope.open ? entry.scope : undefined;
  }

  #live(): RequestScope | undefined {
    const scope = this.#storage.getStore()?.scope;
    return scope?.open === true ? scope : undefined;
  }
}

function requireFunction(fn: unknown, method: string): void {
  if (typeof fn !== "function") throw new TypeError(`${method}() takes a function`);
}
