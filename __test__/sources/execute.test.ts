import { AsyncLocalStorage } from "node:async_hooks";
import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { Deadline } from "../../lib/deadline";
import { DeadlineExceededError, HedgeLostError, SourceAttemptsError } from "../../lib/errors";
import { source } from "../../lib/source";
import type { SourceContext } from "../../lib/source-types";
import { blockEventLoop } from "../support/real-time";
import { connectionError, rejection, soon, stage, state, useManualClock } from "../support/sources";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();
const installed = useManualClock();

describe("a source without policies", () => {
  it("is called like its function, and has its name", async () => {
    const users = source((_ctx, id: string, n: number) => `${id}${n}`, { name: "users" });
    expect(users.name).toBe("users");
    expect(await users("a", 1)).toBe("a1");
    expect(await users.execute({}, "b", 2)).toBe("b2");
  });

  it("gives its function a context before the arguments", async () => {
    let seen: SourceContext | undefined;
    const users = source(
      (ctx, id: string) => {
        seen = ctx;
        return id;
      },
      { name: "users" },
    );
    await users.execute({}, "1");
    expect(seen).toMatchObject({
      signal: expect.any(AbortSignal),
      attempt: 1,
      kind: "primary",
      endpoint: 0,
      deadline: undefined,
    });
    expect(seen?.signal.aborted).toBe(false);
  });

  it("calls the first endpoint, once, synchronously", async () => {
    const { fns, attempts, log } = stage(3);
    const call = source(fns, { name: "users" }).execute({}, "1");
    expect(log()).toEqual(["primary@0"]);
    attempts[0]?.resolve("value");
    expect(await call).toBe("value");
    expect(log()).toHaveLength(1);
  });

  it.each([
    ["a rejection", () => Promise.reject(connectionError())],
    [
      "a synchronous throw",
      () => {
        throw new Error("sync");
      },
    ],
  ])("hands on %s by identity", async (_what, fn) => {
    const errors: unknown[] = [];
    const users = source(
      async () => {
        try {
          return await fn();
        } catch (error) {
          errors.push(error);
          throw error;
        }
      },
      { name: "users" },
    );
    expect(await rejection(users.execute({}))).toBe(errors[0]);
    const thrown = new Error("thrown");
    const throws = source(
      () => {
        throw thrown;
      },
      { name: "users" },
    );
    expect(await rejection(throws())).toBe(thrown);
  });

  it.each([undefined, null, 0, "", false])("resolves with %s as with any value", async (value) => {
    expect(await source(() => value, { name: "users" }).execute({})).toBe(value);
  });

  it("keeps nothing once its calls are over, one call inside another included", async () => {
    const inner = source((_ctx, n: number) => n, { name: "inner", timeoutMs: 1_000 });
    const outer = source(async (_ctx, n: number): Promise<number> => (n === 0 ? 0 : outer(n - 1)), { name: "outer" });
    await Promise.all([inner(1), inner(2), outer(5)]);
    expect(inner.stats()).toMatchObject({ pending: 0, inFlight: 0, timers: 0 });
    expect(outer.stats()).toMatchObject({ pending: 0, inFlight: 0, timers: 0, started: { primary: 6 } });
  });
});

describe("timeoutMs", () => {
  it("bounds the call: the attempt is aborted, then the caller rejected, with one error", async () => {
    const clock = installed();
    const { fns, attempts } = stage();
    const order: unknown[] = [];
    const users = source(fns, { name: "users", timeoutMs: 50 });
    const call = rejection(users.execute({})).then((error) => order.push(error));
    attempts[0]?.ctx.signal.addEventListener("abort", () => order.push(attempts[0]?.ctx.signal.reason));
    await clock.advance(49);
    expect(order).toEqual([]);
    await clock.advance(1);
    await call;
    expect(order[0]).toBeInstanceOf(DeadlineExceededError);
    expect(order[0]).toMatchObject({ timeoutMs: 50, step: "users", status: 504 });
    expect(order[1]).toBe(order[0]);
    expect(users.stats()).toMatchObject({ pending: 0, timers: 0, attempts: { primary: { timeout: 1 } } });
  });

  it("of the call is before that of the source", async () => {
    const clock = installed();
    const { fns } = stage();
    const users = source(fns, { name: "users", timeoutMs: 50 });
    const call = rejection(users.execute({ timeoutMs: 80 }));
    await clock.advance(79);
    expect(await state(call)).toBe("pending");
    await clock.advance(1);
    expect(await call).toMatchObject({ timeoutMs: 80 });
  });

  it("is over for an attempt that settles too late, though no timer has fired", async () => {
    const users = source(() => blockEventLoop(15), { name: "users", timeoutMs: 5 });
    expect(await rejection(users())).toMatchObject({ timeoutMs: 5, step: "users" });
  });

  it("is the deadline that attempts see", async () => {
    const clock = installed();
    const { fns, attempts } = stage();
    const users = source(fns, { name: "users", timeoutMs: 50 });
    const call = rejection(users.execute({}));
    await clock.advance(20);
    const { deadline } = attempts[0]!.ctx;
    expect(deadline).toBeInstanceOf(Deadline);
    expect(deadline?.remainingMs()).toBe(30);
    await clock.advance(30);
    expect(deadline?.signal.reason).toBe(await call);
  });
});

describe("a deadline that a call is given", () => {
  it("bounds it beside its own timeout, with its own error", async () => {
    const clock = installed();
    const { fns, attempts } = stage();
    const users = source(fns, { name: "users", timeoutMs: 1_000 });
    const deadline = Deadline.after(30);
    const call = rejection(users.execute({ deadline }));
    expect(attempts[0]?.ctx.deadline).toBe(deadline);
    await clock.advance(30);
    expect(await call).toMatchObject({ timeoutMs: 30, step: "users" });
    expect(deadline.signal.reason).toBe(await call);
  });

  it("rejects with its signal's reason, also when somebody has looked at the signal before", async () => {
    const clock = installed();
    const { fns } = stage();
    const deadline = Deadline.after(30);
    const { signal } = deadline;
    const call = rejection(source(fns, { name: "users" }).execute({ deadline }));
    await clock.advance(30);
    expect(await call).toBe(signal.reason);
    expect(signal.reason).toMatchObject({ step: "users" });
  });

  it("that lasts longer leaves the timeout in force", async () => {
    const clock = installed();
    const { fns, attempts } = stage();
    const deadline = Deadline.after(1_000);
    const call = rejection(source(fns, { name: "users", timeoutMs: 40 }).execute({ deadline }));
    expect(attempts[0]?.ctx.deadline).not.toBe(deadline);
    expect(attempts[0]?.ctx.deadline?.remainingMs()).toBe(40);
    await clock.advance(40);
    expect(await call).toMatchObject({ timeoutMs: 40 });
    expect(deadline.signal.aborted).toBe(false);
  });

  it("that is over starts no attempt", async () => {
    const clock = installed();
    const { fns, log } = stage();
    const deadline = Deadline.after(10);
    await clock.advance(10);
    const users = source(fns, { name: "users" });
    expect(await rejection(users.execute({ deadline }))).toMatchObject({ timeoutMs: 10, step: "users" });
    expect(log()).toEqual([]);
    expect(users.stats().pending).toBe(0);
  });

  it("counts down through several calls", async () => {
    const clock = installed();
    const { fns, attempts } = stage();
    const users = source(fns, { name: "users" });
    const deadline = Deadline.after(100);
    const first = users.execute({ deadline });
    await clock.advance(60.5);
    attempts[0]?.resolve(1);
    await first;
    const second = rejection(users.execute({ deadline }));
    await clock.advance(39);
    expect(await state(second)).toBe("pending");
    await clock.advance(0.5);
    expect(await second).toBeInstanceOf(DeadlineExceededError);
  });
});

describe("the caller's signal", () => {
  it("aborts all attempts with its reason, and the call is rejected with it", async () => {
    const clock = installed();
    const { fns, attempts } = stage(2);
    const users = source(fns, { name: "users", idempotent: true, hedge: { delayMs: 10 } });
    const caller = new AbortController();
    const call = rejection(users.execute({ signal: caller.signal }));
    await clock.advance(10);
    expect(attempts).toHaveLength(2);
    const reason = { name: "TimeoutError" };
    caller.abort(reason);
    expect(await call).toBe(reason);
    for (const { ctx } of attempts) expect(ctx.signal.reason).toBe(reason);
    expect(users.stats()).toMatchObject({
      pending: 0,
      attempts: { primary: { cancelled: 1, timeout: 0 }, hedge: { cancelled: 1 } },
    });
  });

  it("that is aborted already starts no attempt", async () => {
    const { fns, log } = stage();
    const reason = new Error("gone");
    const users = source(fns, { name: "users" });
    expect(await rejection(users.execute({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(log()).toEqual([]);
  });

  it("that a listener aborts keeps the attempt it was told of from starting", async () => {
    const { fns, attempts, log } = stage(2);
    const caller = new AbortController();
    const onFailover = (): void => caller.abort("enough");
    const users = source(fns, { name: "users", idempotent: true, failover: {}, onFailover });
    const call = rejection(users.execute({ signal: caller.signal }));
    attempts[0]?.reject(connectionError());
    expect(await call).toBe("enough");
    expect(log()).toEqual(["primary@0"]);
    expect(users.stats()).toMatchObject({ pending: 0, inFlight: 0 });
  });

  it("has no listener left, however calls end", async () => {
    const clock = installed();
    const { signal } = new AbortController();
    const { fns, attempts } = stage();
    const users = source(fns, { name: "users", timeoutMs: 50 });
    const calls: Promise<unknown>[] = [
      users.execute({ signal }),
      users.execute({ signal }),
      rejection(users.execute({ signal })),
    ];
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    attempts[0]?.resolve(1);
    attempts[1]?.reject(new Error("fatal"));
    await Promise.allSettled(calls.slice(0, 2));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await clock.advance(50);
    expect(await calls[2]).toBeInstanceOf(DeadlineExceededError);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("changes nothing once the call is answered", async () => {
    const { fns, attempts } = stage();
    const caller = new AbortController();
    const call = source(fns, { name: "users" }).execute({ signal: caller.signal });
    attempts[0]?.resolve("value");
    expect(await call).toBe("value");
    caller.abort();
    await soon();
    expect(attempts[0]?.ctx.signal.aborted).toBe(false);
  });

  it("is not handed to attempts: each has one of its own", async () => {
    const clock = installed();
    const { fns, attempts } = stage();
    const { signal } = new AbortController();
    const users = source(fns, { name: "users", idempotent: true, hedge: { delayMs: 10 } });
    const call = users.execute({ signal });
    const other = users.execute({ signal });
    await clock.advance(10);
    expect(new Set([signal, ...attempts.map(({ ctx }) => ctx.signal)]).size).toBe(5);
    attempts[0]?.resolve(1);
    await call;
    expect(attempts.map(({ ctx }) => ctx.signal.aborted)).toEqual([false, false, true, false]);
    attempts[1]?.resolve(1);
    await other;
  });
});

describe("errors", () => {
  it("a fatal one is rethrown by identity, and cancels the other attempts with itself", async () => {
    const clock = installed();
    const { fns, attempts } = stage(2);
    const users = source(fns, { name: "users", idempotent: true, hedge: { delayMs: 10 }, failover: {}, retry: {} });
    const call = rejection(users.execute({}));
    await clock.advance(10);
    const fatal = new Error("no such user");
    attempts[1]?.reject(fatal);
    expect(await call).toBe(fatal);
    expect(attempts[0]?.ctx.signal.reason).toBe(fatal);
  });

  it("of several attempts come together, the primary's as the cause", async () => {
    installed();
    const { fns, attempts } = stage(2);
    const users = source(fns, { name: "users", idempotent: true, failover: {} });
    const call = rejection(users.execute({}));
    const errors = [connectionError("a"), connectionError("b")];
    attempts[0]?.reject(errors[0]);
    await soon();
    attempts[1]?.reject(errors[1]);
    const error = await call;
    expect(error).toBeInstanceOf(SourceAttemptsError);
    expect((error as SourceAttemptsError).errors).toEqual(errors);
    expect((error as SourceAttemptsError).cause).toBe(errors[0]);
    expect((error as SourceAttemptsError).source).toBe("users");
  });

  it("never win over an attempt that is pending", async () => {
    const clock = installed();
    const { fns, attempts } = stage(2);
    const users = source(fns, { name: "users", idempotent: true, hedge: { delayMs: 10 } });
    const call = users.execute({});
    await clock.advance(10);
    attempts[0]?.reject(connectionError());
    expect(await state(call)).toBe("pending");
    attempts[1]?.resolve("from the hedge");
    expect(await call).toBe("from the hedge");
  });

  it("a loser's end after the call is nobody's", async () => {
    const clock = installed();
    const { fns, attempts } = stage(2);
    const users = source(fns, { name: "users", idempotent: true, hedge: { delayMs: 10 } });
    const call = users.execute({});
    await clock.advance(10);
    attempts[1]?.resolve("hedge");
    await call;
    expect(attempts[0]?.ctx.signal.reason).toBeInstanceOf(HedgeLostError);
    attempts[0]?.reject(new Error("AbortError"));
    await soon();
    expect(users.stats().attempts.primary).toEqual({ ok: 0, error: 0, timeout: 0, cancelled: 1 });
  });
});

describe("ctx.signal", () => {
  it("has aborted, with its reason, also when it is first looked at after the attempt lost", async () => {
    const clock = installed();
    const contexts: SourceContext[] = [];
    const slow = (ctx: SourceContext): Promise<string> => {
      contexts.push(ctx);
      return new Promise(() => {});
    };
    const users = source([slow, () => "fast"], { name: "users", idempotent: true, hedge: { delayMs: 10 } });
    const call = users.execute({});
    await clock.advance(10);
    expect(await call).toBe("fast");
    expect(contexts[0]?.signal.aborted).toBe(true);
    expect(contexts[0]?.signal.reason).toBeInstanceOf(HedgeLostError);
  });
});

describe("the async context", () => {
  it("of the caller is that of every attempt, gate, listener and abort, whoever brings them about", async () => {
    const clock = installed();
    const storage = new AsyncLocalStorage<string>();
    const seen: [string, string | undefined][] = [];
    const note = (what: string): void => void seen.push([what, storage.getStore()]);
    const { fns, attempts } = stage(2);
    const watched = fns.map((fn) => (ctx: SourceContext) => {
      note(ctx.kind);
      ctx.signal.addEventListener("abort", () => note(`abort ${ctx.kind}`));
      return fn(ctx);
    });
    const users = source(watched, {
      name: "users",
      idempotent: true,
      hedge: {
        delayMs: 10,
        gate: () => {
          note("gate");
          return true;
        },
      },
      onHedge: () => note("onHedge"),
      onWinner: () => note("onWinner"),
    });
    const caller = new AbortController();
    const first = storage.run("first", () => users.execute({}));
    const second = storage.run("second", () => rejection(users.execute({ signal: caller.signal })));
    await storage.run("the clock's", () => clock.advance(10));
    attempts[2]?.resolve(1);
    await storage.run("the test's", () => first);
    storage.run("who aborts", () => caller.abort());
    await second;
    const of = (name: string) => seen.filter(([, store]) => store === name).map(([what]) => what);
    expect(of("first")).toEqual(["primary", "gate", "onHedge", "hedge", "onWinner", "abort primary"]);
    expect(of("second")).toEqual(["primary", "gate", "onHedge", "hedge", "abort primary", "abort hedge"]);
    expect(seen).toHaveLength(12);
  });
});

describe("re-entrance", () => {
  it("a function may call its own source, abort its call, or fail at once", async () => {
    const caller = new AbortController();
    const aborts = source(
      () => {
        caller.abort("from inside");
        return 1;
      },
      { name: "aborts" },
    );
    expect(await rejection(aborts.execute({ signal: caller.signal }))).toBe("from inside");
    expect(aborts.stats()).toMatchObject({ pending: 0, inFlight: 0 });

    const fails = source(
      Array.from({ length: 4 }, () => () => {
        throw connectionError();
      }),
      { name: "fails", idempotent: true, failover: {}, retry: { maxAttempts: 4 } },
    );
    const error = await rejection(fails());
    expect((error as AggregateError).errors).toHaveLength(4);
    expect(fails.stats()).toMatchObject({ pending: 0, inFlight: 0, timers: 0 });
  });

  it("listeners that throw or reject change nothing", async () => {
    const broken = vi.fn(() => {
      throw new Error("listener");
    });
    const rejects = vi.fn(async () => Promise.reject(new Error("listener")));
    const { fns, attempts } = stage(2);
    const users = source(fns, {
      name: "users",
      idempotent: true,
      failover: {},
      onFailover: broken,
      onWinner: rejects as never,
    });
    const call = users.execute({});
    attempts[0]?.reject(connectionError());
    await soon();
    attempts[1]?.resolve("value");
    expect(await call).toBe("value");
    expect(broken).toHaveBeenCalledOnce();
    expect(rejects).toHaveBeenCalledOnce();
  });
});
