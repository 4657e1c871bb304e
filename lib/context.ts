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
  readonly context: DialCacheContext;
  readonly scope: RequestScope;
  readonly enabled: boolean;
  /** Entry of another context. There is at most one for each. */
  readonly next: Entry | undefined;
}

/**
 * One for all contexts: up to Node 22, each storage that was ever used makes every promise of the process dearer, for as
 * long as the process lives.
 */
const storage = new AsyncLocalStorage<Entry>();

/**
 * Whether caching is on for the running asynchronous call chain. Off until `enable()`; scopes follow the async context
 * and nest. Work that outlives the outermost `enable()` is off again: it cannot refill a scope that is gone.
 */
export class DialCacheContext {
  /** Runs `fn` with caching on. Resolves or rejects as `fn` does; a synchronous throw rejects. */
  async enable<T>(fn: () => Awaitable<T>): Promise<T> {
    requireFunction(fn, "enable");
    const outer = this.#live();
    if (outer !== undefined) return await this.#run(outer, true, fn);
    const scope: RequestScope = { open: true, memo: undefined };
    try {
      return await this.#run(scope, true, fn);
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
    return await this.#run(outer, false, fn);
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
    const entry = this.#entry();
    return entry?.enabled === true && entry.scope.open ? entry.scope : undefined;
  }

  #live(): RequestScope | undefined {
    const scope = this.#entry()?.scope;
    return scope?.open === true ? scope : undefined;
  }

  #entry(): Entry | undefined {
    let entry = storage.getStore();
    while (entry !== undefined && entry.context !== this) entry = entry.next;
    return entry;
  }

  #run<T>(scope: RequestScope, enabled: boolean, fn: () => T): T {
    return storage.run({ context: this, scope, enabled, next: others(storage.getStore(), this) }, fn);
  }
}

/** The entries of other contexts whose scopes are open: what is over must not pile up in work that goes on. */
function others(entry: Entry | undefined, context: DialCacheContext): Entry | undefined {
  if (entry === undefined) return undefined;
  const next = others(entry.next, context);
  if (entry.context === context || !entry.scope.open) return next;
  return next === entry.next ? entry : { ...entry, next };
}

function requireFunction(fn: unknown, method: string): void {
  if (typeof fn !== "function") throw new TypeError(`${method}() takes a function`);
}
