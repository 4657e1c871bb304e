import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import {
  BufferSerializer,
  DialCache,
  DialCacheClosedError,
  DialCacheKeyConfig,
  type Serializer,
} from "dialcache-native";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type ReadResult, ScriptedClient } from "../support/clients";
import { deferred, never } from "../support/deferred";
import { turns, until } from "../support/real-time";
import { hostileMetrics } from "../support/recorders";
import { useCaseStats } from "../support/rig";
import { RAMPED_DOWN, SERVED, shadowWorld, stored, USE_CASE } from "../support/shadow";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

describe("The caller's value is the caller's own", () => {
  it("a served object is not the one that is compared, and changing it changes no outcome", async () => {
    const compared: unknown[] = [];
    const world = shadowWorld({
      replies: [stored({ tags: ["a"] })],
      comparator: (cached, source) => {
        compared.push(cached);
        return JSON.stringify(cached) === JSON.stringify(source);
      },
    });
    world.source.mockResolvedValue({ tags: ["a"] });
    const value = (await world.load()) as { tags: string[] };
    value.tags.push("b");
    await world.settle();
    expect(world.outcomes()).toEqual({ match: 1 });
    expect(compared[0]).not.toBe(value);
  });

  it("a Buffer that the serializer hands through may be overwritten by the caller", async () => {
    const world = shadowWorld({
      replies: [Buffer.from("abc"), Buffer.from("abc"), null],
      serializer: new BufferSerializer() as Serializer<unknown>,
    });
    world.source.mockResolvedValueOnce(Buffer.from("abc")).mockResolvedValueOnce(Buffer.from("abd"));
    ((await world.load()) as Buffer).fill("x");
    await world.settle();
    expect(world.outcomes()).toEqual({ match: 1 });
    ((await world.load()) as Buffer).fill("x");
    await world.settle();
    expect(world.outcomes()).toEqual({ match: 1, superseded: 1 });
  });

  it("and so may one that the comparator was given: the confirming read compares the payload", async () => {
    const world = shadowWorld({
      replies: [Buffer.from("abc"), Buffer.from("abc")],
      serializer: new BufferSerializer() as Serializer<unknown>,
      comparator: (cached) => {
        (cached as Buffer).fill("x");
        return false;
      },
    });
    world.source.mockResolvedValue(Buffer.from("abd"));
    await world.load();
    await world.settle();
    expect(world.outcomes()).toEqual({ mismatch: 1 });
  });

  it("what a caller changes is not what Redis is filled with", async () => {
    const reply = deferred<ReadResult>();
    for (const first of ["the miss", "the value"]) {
      const world = shadowWorld({ config: RAMPED_DOWN, replies: [first === "the miss" ? null : reply.promise] });
      const result = deferred<unknown>();
      world.source.mockReturnValue(result.promise);
      const call = world.load() as Promise<{ v: number }>;
      await world.settle();
      result.resolve({ v: 1 });
      (await call).v = 2;
      reply.resolve(null);
      await world.settle();
      expect(world.client.writes[0]?.request.value).toBe('{"v":1}');
      world.client.writes[0]?.resolve(true);
    }
  });

  it("the process-local layer is not filled by it", async () => {
    const config = new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, shadow: { ramp: 100 } });
    const world = shadowWorld({ config, replies: [stored("cached"), stored("cached")] });
    world.source.mockResolvedValue("source");
    expect(await world.load()).toBe("cached");
    await world.settle();
    expect(world.outcomes()).toEqual({ mismatch: 1 });
    expect(await world.load(), "the next call hits what was served").toBe("cached");
    expect(world.cache.stats().local.entries).toBe(1);
  });
});

describe("Callers wait for none of it", () => {
  it("a call settles while source, serializer, comparison and read of its job hang", async () => {
    const served = shadowWorld({ replies: [stored(1)] });
    served.source.mockReturnValue(never());
    expect(await served.load()).toBe(1);
    const ramped = shadowWorld({ config: RAMPED_DOWN, replies: [never()] });
    ramped.source.mockResolvedValue(2);
    expect(await ramped.load()).toBe(2);
    const dumping = shadowWorld({
      config: RAMPED_DOWN,
      replies: [null],
      serializer: { dump: () => never(), load: () => never() },
    });
    dumping.source.mockResolvedValue(3);
    expect(await dumping.load()).toBe(3);
  });

  it("nothing of a job but dump runs before its caller goes on", async () => {
    const order: string[] = [];
    const note = <T>(what: string, value: T): T => {
      order.push(what);
      return value;
    };
    const serializer: Serializer<unknown> = {
      dump: (value) => note("dump", JSON.stringify(value)),
      load: (payload) => note("load", JSON.parse(String(payload))),
    };
    const served = shadowWorld({ replies: [stored(1)], serializer, comparator: () => note("compare", true) });
    served.source.mockImplementation(() => note("source", 1));
    await served.load();
    note("caller", 0);
    await served.settle();
    expect(order).toEqual(["load", "caller", "source", "load", "compare"]);

    order.length = 0;
    const ramped = shadowWorld({ config: RAMPED_DOWN, serializer });
    ramped.client.autoRead = () => note("read", null);
    ramped.client.autoWrite = () => note("write", true);
    ramped.source.mockImplementation(() => note("source", 1));
    await ramped.load();
    note("caller", 0);
    await ramped.settle();
    expect(order).toEqual(["source", "dump", "caller", "read", "write"]);
    expect(ramped.outcomes()).toEqual({ filled: 1 });
  });

  it("without a shadow ramp, nobody asks the engine about shadows", async () => {
    const { NativeEngine } = createRequire(import.meta.url)("../../binding.js") as typeof import("../../binding");
    const asked = vi.spyOn(NativeEngine.prototype, "shadowSample");
    const begun = vi.spyOn(NativeEngine.prototype, "beginShadow");
    onTestFinished(() => {
      asked.mockRestore();
      begun.mockRestore();
    });
    const ttlSec = { local: 60, remote: 60 };
    for (const [shadow, remote, called] of [
      [undefined, 100, 0],
      [{ ramp: 0 }, 100, 0],
      [undefined, 0, 0],
      // One leader, whose value the next two calls find in the process.
      [{ ramp: 100 }, 100, 1],
    ] as const) {
      asked.mockClear();
      begun.mockClear();
      const world = shadowWorld({ config: new DialCacheKeyConfig({ ttlSec, ramp: { remote }, shadow }) });
      world.client.autoRead = () => stored(1);
      world.source.mockResolvedValue(1);
      for (let call = 0; call < 3; call += 1) expect(await world.load()).toBe(1);
      expect(asked).toHaveBeenCalledTimes(called);
      expect(begun).toHaveBeenCalledTimes(called);
      await world.settle();
    }
  });
});

describe("The context of a job is its call's", () => {
  it("for source, serializer, comparator, client, metrics and log, also at a deadline and by close()", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: [string, string | undefined][] = [];
    const note = (what: string): void => void seen.push([what, storage.getStore()]);
    const serializer: Serializer<unknown> = {
      dump: (value) => JSON.stringify(value),
      load: (payload) => {
        note("load");
        return JSON.parse(String(payload));
      },
    };
    const metrics = { shadowValidation: ({ outcome }: { outcome: string }) => note(outcome) };
    const logger = { warn: () => note("warn"), debug() {}, error() {} };
    const instance = { metrics: metrics as never, logger, shadowMaxInFlight: 10 };
    const world = shadowWorld({
      config: new DialCacheKeyConfig({ ttlSec: { remote: 60 }, shadow: { ramp: 100, logMismatches: true } }),
      serializer,
      instance,
      comparator: () => {
        note("compare");
        return false;
      },
    });
    world.client.autoRead = () => {
      note("read");
      return stored(1);
    };
    world.source.mockImplementation((id) => {
      note("source");
      return id === "1" ? 2 : never();
    });
    await storage.run("first", () => world.load("1"));
    await world.settle();
    expect(seen.map(([what]) => what)).toEqual([
      "read",
      "load",
      "source",
      "load",
      "compare",
      "read",
      "mismatch",
      "warn",
    ]);
    expect(new Set(seen.map(([, context]) => context))).toEqual(new Set(["first"]));

    await storage.run("second", () => world.load("2"));
    await world.clock.advance(1_000);
    expect(seen.at(-1)).toEqual(["timeout", "second"]);

    const closing = shadowWorld({ config: RAMPED_DOWN, instance, replies: [never()] });
    closing.source.mockResolvedValue(1);
    await storage.run("third", () => closing.load("3"));
    await closing.settle();
    await closing.cache.close();
    await closing.settle();
    expect(seen.at(-1)).toEqual(["redis_error", "third"]);
  });
});

describe("close(), drain() and invalidateRemote()", () => {
  it("close() ends reads that are under way, aborting their signals, and lets a write go on", async () => {
    const world = shadowWorld({
      config: RAMPED_DOWN,
      replies: [never(), null],
      instance: { shadowMaxInFlight: 2 },
    });
    world.source.mockResolvedValue(1);
    await world.load("1");
    await world.settle();
    await world.load("2");
    await world.settle();
    expect(world.client.writes).toHaveLength(1);
    await world.cache.close();
    await world.settle();
    expect(world.outcomes()).toEqual({ redis_error: 1 });
    expect(world.client.reads[0]?.context?.signal.reason).toBeInstanceOf(DialCacheClosedError);
    world.client.writes[0]?.resolve(true);
    await world.settle();
    expect(world.outcomes()).toEqual({ redis_error: 1, filled: 1 });
  });

  it("after close() a comparison that differs is not confirmed", async () => {
    const world = shadowWorld({ replies: [stored(1)] });
    const result = deferred<number>();
    world.source.mockReturnValue(result.promise);
    await world.load();
    await world.settle();
    await world.cache.close();
    result.resolve(2);
    await world.settle();
    expect(world.outcomes()).toEqual({ confirmation_error: 1 });
    expect(world.client.reads).toHaveLength(1);
  });

  it("drain() waits for a fill from the caller's answer on, and not for a comparison", async () => {
    const reply = deferred<ReadResult>();
    const world = shadowWorld({ config: RAMPED_DOWN, replies: [reply.promise] });
    world.source.mockResolvedValue(1);
    await world.load();
    expect(world.cache.stats().pendingWrites).toBe(1);
    let drained: boolean | undefined;
    void world.cache.drain({ timeoutMs: 5_000 }).then((all) => {
      drained = all;
    });
    await world.settle();
    reply.resolve(null);
    await world.settle();
    expect(drained).toBeUndefined();
    (await world.client.writeAt(0)).resolve(true);
    await world.settle();
    expect(drained).toBe(true);
    expect(world.cache.stats().pendingWrites).toBe(0);

    for (const [config, replies] of [
      [RAMPED_DOWN, [stored(1), never<ReadResult>()]],
      [SERVED, [stored(1), never<ReadResult>()]],
    ] as const) {
      const comparing = shadowWorld({ config, replies: [...replies] });
      comparing.source.mockResolvedValue(2);
      await comparing.load();
      await comparing.settle();
      expect(comparing.inFlight()).toBe(1);
      expect(await comparing.cache.drain({ timeoutMs: 0 })).toBe(true);
    }
  });

  it("an outcome that fills nothing ends the wait too", async () => {
    for (const [reply, dump] of [
      [new Error("down"), undefined],
      [
        null,
        () => {
          throw new Error("no");
        },
      ],
    ] as const) {
      const serializer = { dump: dump ?? JSON.stringify, load: JSON.parse as never };
      const world = shadowWorld({ config: RAMPED_DOWN, replies: [reply], serializer });
      world.source.mockResolvedValue(1);
      await world.load();
      await world.settle();
      expect(world.cache.stats().pendingWrites).toBe(0);
    }
  });
});

describe("Whatever fails, nothing goes unhandled, and callers get their values", () => {
  it("hostile metrics, logger, client, serializer, source and comparator", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const reject = () => Promise.reject(new Error("boom"));
    const client = new ScriptedClient();
    let reads = 0;
    const answers = [() => true, () => false, boom, reject, () => undefined];
    client.autoRead = () => {
      reads += 1;
      if (reads % 5 === 0) return boom();
      if (reads % 3 === 0) return reject();
      return reads % 2 === 0 ? stored({ reads }) : { payload: JSON.stringify({ reads }), createdAtMs: Number.NaN };
    };
    client.autoWrite = () => (reads % 2 === 0 ? boom() : (reject() as never));
    for (const act of [boom, reject, () => never()]) {
      const logger = { warn: act, debug: act, error: act };
      const cache = new DialCache({
        redis: { client, readTimeoutMs: 20 },
        metrics: hostileMetrics(act),
        logger,
        shadowMaxInFlight: 1_000,
      });
      onTestFinished(() => cache.close());
      let calls = 0;
      const load = (config: DialCacheKeyConfig, useCase: string) =>
        cache.cached(
          async (id: string): Promise<unknown> => {
            calls += 1;
            if (calls % 7 === 0) throw new Error("source");
            return Object.defineProperty({ id }, "toJSON", { value: boom, enumerable: calls % 2 === 0 });
          },
          {
            keyType: "user_id",
            useCase,
            cacheKey: (id) => id,
            defaultConfig: config,
            serializer: { dump: (value) => JSON.stringify(value), load: (payload) => JSON.parse(String(payload)) },
            shadowComparator: () => (answers[calls % answers.length] as () => boolean)(),
          },
        );
      const logged = { shadow: { ramp: 100, logMismatches: true }, ttlSec: { remote: 60 } };
      const loads = [
        load(new DialCacheKeyConfig(logged), "A"),
        load(new DialCacheKeyConfig({ ...logged, ramp: { remote: 0 } }), "B"),
      ];
      const results = await Promise.allSettled(
        Array.from({ length: 60 }, (_, n) => cache.enable(() => (loads[n % 2] as (typeof loads)[0])(String(n)))),
      );
      for (const result of results) {
        if (result.status === "rejected") expect(String(result.reason)).toBe("Error: source");
      }
      await until("all jobs end", () => cache.stats().shadow.inFlight === 0);
      // The others depend on who was first.
      expect(useCaseStats(cache, "B").shadow.source_error).toBeGreaterThan(0);
      const ended = [useCaseStats(cache, "A"), useCaseStats(cache, "B")].flatMap(({ shadow }) => Object.values(shadow));
      expect(ended.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(30);
      await turns(3);
    }
  });

  it("a logger that calls the cache, and a metrics hook that closes it", async () => {
    const world = shadowWorld({
      config: new DialCacheKeyConfig({ ttlSec: { remote: 60 }, shadow: { ramp: 100, logMismatches: true } }),
      replies: [stored(1), stored(1), stored(2), stored(2)],
      instance: {
        metrics: { shadowValidation: () => void world.cache.close() } as never,
        logger: { warn: () => void world.load("2"), debug() {}, error() {} },
      },
    });
    world.source.mockResolvedValue(3);
    await world.load();
    await world.settle();
    expect(world.cache.stats().useCases[USE_CASE]?.shadow).toEqual({ mismatch: 1 });
    expect(world.inFlight()).toBe(0);
  });
});

describe("In real time", () => {
  it("a job is begun and timed without an installed clock, though timers are faked", async () => {
    const client = new ScriptedClient();
    client.autoRead = () => stored(1);
    const cache = new DialCache({ redis: { client, readTimeoutMs: 1_000 }, logger: null });
    onTestFinished(() => cache.close());
    const load = cache.cached(async (id: string) => (id === "1" ? 1 : await never<number>()), {
      keyType: "user_id",
      useCase: "Real",
      cacheKey: (id) => id,
      defaultConfig: SERVED,
      fallbackTimeoutMs: 30,
    });
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    await cache.enable(() => load("1"));
    await until("the match", () => useCaseStats(cache, "Real").shadow.match === 1);
    await cache.enable(() => load("2"));
    await until("the timeout", () => useCaseStats(cache, "Real").shadow.timeout === 1);
    expect(cache.stats().shadow.inFlight).toBe(1);
  });
});
