/**
 * Calls `target[method](...args)` for its effect only: a throw, a missing method and a later rejection all end here.
 * The method is looked up at each call, so one that is replaced afterwards (a spy on `console`) is honoured.
 */
export function callGuarded(target: object, method: string, args: readonly unknown[]): void {
  try {
    const member: unknown = (target as Record<string, unknown>)[method];
    if (typeof member !== "function") return;
    const result: unknown = Reflect.apply(member, target, args);
    if (typeof result === "object" && result !== null && "then" in result) {
      Promise.resolve(result).then(undefined, ignore);
    }
  } catch {
    // An observer's failure is never the caller's.
  }
}

function ignore(): void {}
