import { DialCache, RedisReadTimeoutError } from "dialcache-native";
import { installClock, type ManualClock, manualClock } from "dialcache-native/testing";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { connectNodeRedis, ScriptedClient } from "../support/clients";
import { startBlackHole } from "../support/fault-server";
import { turns, until } from "../support/real-time";
import { errorOf, recordLogger, recordMetrics } from "../support/recorders";
import { type LoadOptions, loader } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
  onTestFinished(installClock(clock));
});

function scripted(options: LoadOptions = {}) {
  const client = new ScriptedClient();
  const log = recordLogger();
  const metrics = recordMetrics();
  const cache = new DialCache({
    redis: { client, readTimeoutMs: 50 },
    logger: {
      ...log.logger,
      warn: (...args) => {
        client.log.push("warning");
        log.logger.warn(...args);
      },
    },
    metrics: {
      ...metrics.adapter,
      error: (labels) => {
        client.log.push("metric");
        metrics.adapter.error(labels);
      },
    },
  });
  const source = vi.fn(async () => {
    client.log.push("source");
    return "source";
  });
  return { client, log, metrics, cache, source, load: loader(cache, "GetUser", source, options) };
}

describe("A JavaScript client receives the cooperative signal", () => {
  it("with the effective deadline, not aborted, one of its own for each read", async () => {
    const { client, load } = scripted({ redisReadTimeoutMs: 30 });
    client.autoRead = () => '"redis"';
    await load("1");
    await load("2");
    const [first, second] = client.reads.map(({ context }) => context);
    expect(first?.timeoutMs).toBe(30);
    expect(first?.signal).toBeInstanceOf(AbortSignal);
    expect(first?.signal.aborted).toBe(false);
    expect(second?.signal).not.toBe(first?.signal);
  });

  it("is not aborted by a hit, a miss or an error in time", async () => {
    const { client, load } = scripted();
    client.autoWrite = () => true;
    const answers = ['"redis"', null, Promise.reject(new Error("refused"))];
    for (const [index, answer] of answers.entries()) {
      client.autoRead = () => answer;
      await load(String(index));
    }
    await clock.advance(1_000);
    expect(client.reads.map(({ context }) => context?.signal.aborted)).toEqual([false, false, false]);
    expect(client.log).not.toContain("abort");
  });

  it("removes a read that node-redis has queued and not sent", async () => {
    const hole = await startBlackHole();
    // Its connection attempt never ends: commands stay in the offline queue.
    const client = await connectNodeRedis(hole.url, false);
    onTestFinished(async () => {
      await client.close();
      await hole.close();
    });
    const cache = new DialCache({ redis: { client, readTimeoutMs: 50 }, logger: null });
    const load = loader(cache, "GetUser", async () => "source");
    const result = load("1");
    await until("the read is queued", () => client.pending === 1);
    await clock.advance(50);
    expect(await result).toBe("source");
    await until("the queued read is gone", () => client.pending === 0);
    expect(hole.received.toString()).not.toContain("GET");
  });

  it("A one-argument read stays usable", async () => {
    const { cache } = scripted();
    const oneArgument = {
      read: async ({ valueKey }: { valueKey: string }) => JSON.stringify(valueKey),
      write: async () => true,
      invalidate: async () => {},
    };
    const other = new DialCache({ redis: { client: oneArgument, readTimeoutMs: 50 }, logger: null });
    const load = loader(other, "GetUser", async () => "source");
    expect(await load("1")).toBe("urn:user_id:1#GetUser:dialcache-frame-v1");
    await cache.close();
  });
});

describe("On expiry, in this order: the signal aborts, the error reaches the chain, the late read is swallowed", () => {
  it("with one error for all three", async () => {
    const { client, log, load } = scripted();
    const result = load("1");
    const read = await client.readAt(0);
    await clock.advance(49);
    expect(client.log).toEqual(["read"]);
    await clock.advance(1);
    expect(await result).toBe("source");
    expect(client.log[1]).toBe("abort");
    expect([...client.log.slice(2)].sort()).toEqual(["metric", "source", "warning"]);

    const error = read.context?.signal.reason;
    expect(error).toBeInstanceOf(RedisReadTimeoutError);
    expect(error).toMatchObject({ useCase: "GetUser", timeoutMs: 50 });
    expect(errorOf(log.warnings[0])).toBe(error);
    read.reject(new Error("late"));
    await turns(3);
    expect(client.log).toHaveLength(5);
  });

  it("an abort listener that throws does not keep the source from running", async () => {
    const { client, load } = scripted();
    const thrown = new Error("listener");
    // Node reports it as an uncaught exception of the listener's own; it is the client's bug, not the caller's.
    const caught = vi.fn();
    process.setUncaughtExceptionCaptureCallback(caught);
    onTestFinished(() => process.setUncaughtExceptionCaptureCallback(null));
    const result = load("1");
    const read = await client.readAt(0);
    read.context?.signal.addEventListener("abort", () => {
      throw thrown;
    });
    await clock.advance(50);
    expect(await result).toBe("source");
    await turns(3);
    expect(caught.mock.calls.every(([error]) => error === thrown)).toBe(true);
  });

  it("a client that settles its read from the abort listener is late all the same", async () => {
    const { client, load, log } = scripted();
    const result = load("1");
    const read = await client.readAt(0);
    read.context?.signal.addEventListener("abort", () => read.resolve('"redis"'));
    await clock.advance(50);
    expect(await result).toBe("source");
    expect(log.warnings).toHaveLength(1);
    expect(errorOf(log.warnings[0])).toBeInstanceOf(RedisReadTimeoutError);
  });

  it("the context's other parts tell nothing of the key", async () => {
    const { client, load } = scripted();
    load("secret-id").catch(() => {});
    const read = await client.readAt(0);
    await clock.advance(50);
    const error = read.context?.signal.reason as Error;
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain("secret-id");
  });
});

describe("The deadline is monotonic", () => {
  it("a reply that settles after the deadline is a timeout even if the timer has not fired yet", async () => {
    const { client, load, metrics, source } = scripted();
    // A clock that moves on without firing timers: an event loop that did not get around to them.
    let skew = 0;
    const now = clock.now.bind(clock);
    vi.spyOn(clock, "now").mockImplementation(() => now() + skew);
    const result = load("1");
    const read = await client.readAt(0);
    skew = 50;
    read.resolve('"redis"');
    expect(await result).toBe("source");
    expect(source).toHaveBeenCalledTimes(1);
    expect(read.context?.signal.aborted).toBe(true);
    expect(read.context?.signal.reason).toBeInstanceOf(RedisReadTimeoutError);
    expect(metrics.count("error", { error: "cache_read" })).toBe(1);
  });

  it("a reply that settles just before the deadline is in time, whatever the timer says later", async () => {
    const { client, load, log } = scripted();
    let skew = 0;
    const now = clock.now.bind(clock);
    vi.spyOn(clock, "now").mockImplementation(() => now() + skew);
    const result = load("1");
    const read = await client.readAt(0);
    skew = 49.5;
    read.resolve('"redis"');
    expect(await result).toBe("redis");
    await clock.advance(1_000);
    expect(log.warnings).toEqual([]);
  });

  it("a timer that fires early re-arms", async () => {
    const { client, load, source } = scripted();
    const setTimeout = clock.setTimeout.bind(clock);
    // Each timer fires 10 ms before it was asked for, as coarse timers do.
    const set = vi
      .spyOn(clock, "setTimeout")
      .mockImplementation((fn: () => void, ms: number) => setTimeout(fn, Math.max(ms - 10, 1)));
    const result = load("1");
    await client.readAt(0);
    await clock.advance(40);
    await turns(3);
    expect(source).not.toHaveBeenCalled();
    expect(set.mock.calls.length).toBeGreaterThan(1);
    await clock.advance(10);
    expect(await result).toBe("source");
  });

  it("the wall clock's jumps do not matter", async () => {
    const { client, load, source } = scripted();
    const result = load("1");
    await client.readAt(0);
    vi.spyOn(clock, "wallNow").mockReturnValue(4_102_444_800_000);
    await turns(3);
    expect(source).not.toHaveBeenCalled();
    client.reads[0]?.resolve('"redis"');
    expect(await result).toBe("redis");
  });
});
