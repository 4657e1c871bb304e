import { afterEach } from "vitest";
import type { AttemptKind, SourceContext, SourceFunction } from "../../lib/source-types";
import { installClock, type ManualClock, manualClock } from "../../lib/testing";
import { turns } from "./real-time";

/** An attempt that a test settles. */
export interface Played {
  readonly ctx: SourceContext;
  readonly endpoint: number;
  readonly kind: AttemptKind;
  readonly args: readonly unknown[];
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Endpoints whose attempts wait for the test. */
export interface Stage {
  readonly fns: SourceFunction<unknown[], unknown>[];
  /** Attempts in the order they were started. */
  readonly attempts: Played[];
  /** Kinds and endpoints of the attempts so far. */
  readonly log: () => string[];
}

export function stage(endpoints = 1): Stage {
  const attempts: Played[] = [];
  const fns = Array.from({ length: endpoints }, (_, endpoint) => {
    return (ctx: SourceContext, ...args: unknown[]) =>
      new Promise<unknown>((resolve, reject) => {
        // Looked at, as every well-behaved endpoint does.
        void ctx.signal;
        attempts.push({ ctx, endpoint, kind: ctx.kind, args, resolve, reject });
      });
  });
  return { fns, attempts, log: () => attempts.map(({ kind, endpoint }) => `${kind}@${endpoint}`) };
}

/** A clock of the test's for all sources made from now on, until the test is over. */
export function useManualClock(): () => ManualClock {
  let takeAway: (() => void) | undefined;
  afterEach(() => {
    takeAway?.();
    takeAway = undefined;
  });
  return () => {
    const clock = manualClock();
    takeAway = installClock(clock);
    return clock;
  };
}

/** An error of a connection, as Node's sockets make it. */
export function connectionError(message = "connect ECONNREFUSED"): Error {
  return Object.assign(new Error(message), { code: "ECONNREFUSED" });
}

/** What a promise was rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`it should reject, but resolved with ${String(value)}`);
    },
    (error: unknown) => error,
  );
}

/** How a promise stands. */
export async function state(promise: Promise<unknown>): Promise<"pending" | "resolved" | "rejected"> {
  let settled: "pending" | "resolved" | "rejected" = "pending";
  promise.then(
    () => {
      settled = "resolved";
    },
    () => {
      settled = "rejected";
    },
  );
  await turns(2);
  return settled;
}

/** Lets continuations run. */
export const soon = (): Promise<void> => turns(2);
