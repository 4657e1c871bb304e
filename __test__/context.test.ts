import { executionAsyncResource } from "node:async_hooks";
import { describe, expect, it } from "vitest";
import { DialCacheContext, type RequestScope } from "../lib/context";

function openGate(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function thenable<T>(value: T): PromiseLike<T> {
  // biome-ignore lint/suspicious/noThenProperty: a promise of some other library
  return { then: (resolve: (value: T) => void) => resolve(value) } as PromiseLike<T>;
}

const later = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("DialCacheContext", () => {
  it("is off until it is enabled, and off again afterwards", async () => {
    const context = new DialCacheContext();
    expect(context.isEnabled()).toBe(false);
    expect(await context.enable(() => context.isEnabled())).toBe(true);
    expect(context.isEnabled()).toBe(false);
  });

  it("runs the callback at once, before enable() returns", () => {
    const context = new DialCacheContext();
    let ran = false;
    const result = context.enable(() => {
      ran = true;
    });
    expect(ran).toBe(true);
    expect(result).toBeInstanceOf(Promise);
  });

  it("follows the asynchronous call chain", async () => {
    const context = new DialCacheContext();
    await context.enable(async () => {
      await later();
      expect(context.isEnabled()).toBe(true);
      await Promise.all([later().then(() => expect(context.isEnabled()).toBe(true))]);
    });
  });

  it.each(["enable", "disable"] as const)(
    "%s() always returns a promise, which settles as the callback does",
    async (method) => {
      const context = new DialCacheContext();
      const error = { not: "an Error" };
      await expect(context[method](() => 5)).resolves.toBe(5);
      await expect(context[method](async () => 5)).resolves.toBe(5);
      await expect(context[method](() => thenable(5))).resolves.toBe(5);
      const thrown = context[method](() => {
        throw error;
      });
      await expect(thrown).rejects.toBe(error);
      await expect(context[method](() => Promise.reject(error))).rejects.toBe(error);
      await expect(context[method](undefined as never)).rejects.toThrow(`${method}() takes a function`);
    },
  );

  it("turns off for the extent of disable(), and on again inside it", async () => {
    const context = new DialCacheContext();
    const seen = await context.enable(async () => {
      const states = [context.isEnabled()];
      await context.disable(async () => {
        await later();
        states.push(context.isEnabled());
        await context.enable(() => states.push(context.isEnabled()));
        states.push(context.isEnabled());
      });
      states.push(context.isEnabled());
      return states;
    });
    expect(seen).toEqual([true, false, true, false, true]);
    expect(await context.disable(() => context.isEnabled())).toBe(false);
  });

  it("has one scope for the outermost enable(), shared by nested ones", async () => {
    const context = new DialCacheContext();
    const scopes: (RequestScope | undefined)[] = [];
    await context.enable(async () => {
      scopes.push(context.current());
      await context.enable(() => scopes.push(context.current()));
      await context.disable(() => context.enable(() => scopes.push(context.current())));
      scopes.push(context.current());
    });
    expect(new Set(scopes).size).toBe(1);
    await context.enable(() => scopes.push(context.current()));
    expect(new Set(scopes).size).toBe(2);
  });

  it("lets an enable() inside an outermost disable() own its scope", async () => {
    const context = new DialCacheContext();
    let scope: RequestScope | undefined;
    await context.disable(async () => {
      await context.enable(() => {
        scope = context.current();
        expect(scope?.open).toBe(true);
      });
      expect(scope?.open).toBe(false);
      expect(context.isEnabled()).toBe(false);
    });
  });

  it.each([
    ["resolves", async () => {}],
    ["rejects", () => Promise.reject(new Error("source"))],
    [
      "throws",
      () => {
        throw new Error("source");
      },
    ],
  ])("closes the scope and frees its values when the callback %s", async (_how, end) => {
    const context = new DialCacheContext();
    let scope: RequestScope | undefined;
    const run = context.enable(() => {
      scope = context.current();
      scope!.memo = new Map([["key", "value"]]);
      return end();
    });
    await run.catch(() => {});
    expect(scope).toEqual({ open: false, memo: undefined });
  });

  it("keeps the scope open while the callback is pending", async () => {
    const context = new DialCacheContext();
    const gate = openGate();
    const run = context.enable(() => gate.promise.then(() => context.isEnabled()));
    await later();
    gate.resolve();
    expect(await run).toBe(true);
  });

  it("is off for detached work once the scope closed, and for what that work starts", async () => {
    const context = new DialCacheContext();
    const gate = openGate();
    let detached: Promise<unknown> | undefined;
    await context.enable(() => {
      detached = gate.promise.then(async () => {
        const states = [context.isEnabled()];
        await context.disable(() => states.push(context.isEnabled()));
        await context.enable(() => states.push(context.isEnabled()));
        states.push(context.isEnabled());
        return states;
      });
    });
    gate.resolve();
    expect(await detached).toEqual([false, false, true, false]);
  });

  it("is its own: another context stays off", async () => {
    const [one, other] = [new DialCacheContext(), new DialCacheContext()];
    await one.enable(async () => {
      expect(other.isEnabled()).toBe(false);
      await other.enable(() => expect([one.isEnabled(), other.isEnabled()]).toEqual([true, true]));
    });
  });

  it("nests with others in any order, each with its own scope and its own state", async () => {
    const [one, other] = [new DialCacheContext(), new DialCacheContext()];
    const states = () => [one.isEnabled(), other.isEnabled()];
    await one.enable(async () => {
      const outermost = one.current();
      await other.enable(async () => {
        const others = other.current();
        await one.disable(async () => {
          await later();
          expect(states()).toEqual([false, true]);
          await one.enable(() => {
            expect(states()).toEqual([true, true]);
            expect(one.current()).toBe(outermost);
            expect(other.current()).toBe(others);
          });
        });
        await other.disable(() => expect(states()).toEqual([true, false]));
        expect(states()).toEqual([true, true]);
      });
      expect(states()).toEqual([true, false]);
    });
    expect(states()).toEqual([false, false]);
  });

  it("stays off in work that goes on and on from one closed scope to the next", async () => {
    const contexts = [new DialCacheContext(), new DialCacheContext()];
    // Each step is started inside the scope of the one before, which is over when it runs.
    const step = async (left: number): Promise<number> => {
      await later();
      if (left === 0) return contexts.filter((context) => context.isEnabled()).length;
      let next: Promise<number> | undefined;
      await contexts[left % 2]?.enable(() => {
        next = step(left - 1);
      });
      return (await next) as number;
    };
    expect(await step(2_000)).toBe(0);
  });

  // Up to Node 22 every storage that was ever used leaves a property on each new promise, of a process's whole life.
  it("costs a promise the same however many contexts there were", async () => {
    const tracked = async () => {
      await later();
      return Object.getOwnPropertySymbols(executionAsyncResource()).length;
    };
    await new DialCacheContext().enable(() => {});
    const before = await tracked();
    for (let made = 0; made < 20; made += 1) await new DialCacheContext().enable(() => {});
    expect(await tracked()).toBe(before);
  });

  it("keeps concurrent scopes apart", async () => {
    const context = new DialCacheContext();
    const scopes = await Promise.all(
      [1, 2, 3].map(() =>
        context.enable(async () => {
          const before = context.current();
          await later();
          expect(context.current()).toBe(before);
          return before;
        }),
      ),
    );
    expect(new Set(scopes).size).toBe(3);
  });
});
