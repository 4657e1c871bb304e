import { types } from "node:util";
import { adopt } from "./thenable";

/**
 * Calls `target[method](...args)` for its effect only: a throw, a missing method and a later rejection all end here.
 * The method is looked up at each call, so one that is replaced afterwards (a spy on `console`) is honoured.
 */
export function callGuarded(target: object, method: string, args: readonly unknown[]): void {
  try {
    const member: unknown = (target as Record<string, unknown>)[method];
    if (typeof member !== "function") return;
    const result: unknown = Reflect.apply(member, target, args);
    ignoreOutcome(result);
  } catch {
    // An observer's failure is never the caller's.
  }
}

/** Lets `value`, when it is a promise, reject without anyone noticing. */
export function ignoreOutcome(value: unknown): void {
  if (types.isPromise(value)) adopt(value).then(ignore, ignore);
}

function ignore(): void {}
