import { DialCache, RedisClient } from "dialcache-native";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startFaultProxy } from "../support/fault-proxy";
import { startBlackHole } from "../support/fault-server";
import { until } from "../support/real-time";
import { recordLogger, recordMetrics } from "../support/recorders";
import { freePort, type RedisServer, startRedis } from "../support/redis-server";
import { loader, REMOTE_ONLY, useCaseStats } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const IDS = Array.from({ length: 1_000 }, (_, index) => `user ${index}`);
const READ_TIMEOUT_MS = 50;

async function startServer(): Promise<RedisServer> {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  return server;
}

function service(url: string, clientOptions: Partial<ConstructorParameters<typeof RedisClient>[0]> = {}) {
  const client = new RedisClient({ url, ...clientOptions });
  const metrics = recordMetrics();
  const log = recordLogger();
  const cache = new DialCache({
    namespace: "down",
    redis: { client, readTimeoutMs: READ_TIMEOUT_MS },
    metrics: metrics.adapter,
    logger: log.logger,
  });
  onTestFinished(async () => {
    await cache.close();
    await client.close();
  });
  const source = vi.fn(async (id: string) => `source of ${id}`);
  return {
    client,
    cache,
    metrics,
    log,
    source,
    load: loader(cache, "GetUser", source, { defaultConfig: REMOTE_ONLY }),
  };
}

type Service = ReturnType<typeof service>;

/** Every call gets the source's value, and no call waits for more than its one read. */
async function expectSourceForAll({ load, source, cache }: Service) {
  source.mockClear();
  const before = useCaseStats(cache, "GetUser").readDeadlinesArmed;
  expect(await Promise.all(IDS.map((id) => load(id)))).toEqual(IDS.map((id) => `source of ${id}`));
  expect(source).toHaveBeenCalledTimes(IDS.length);
  expect(useCaseStats(cache, "GetUser").readDeadlinesArmed - before).toBeLessThanOrEqual(IDS.length);
  expect(cache.stats()).toMatchObject({ timers: { armed: 0 }, flights: { active: 0 } });
}

/** Hits come back without anybody's help. */
async function expectHitsAgain({ load, cache }: Service) {
  await until("a hit", async () => {
    const before = useCaseStats(cache, "GetUser").hits.remote;
    await load("recovered");
    return useCaseStats(cache, "GetUser").hits.remote > before;
  });
}

describe("1,000 reads, each answered by the source, while Redis is", () => {
  it("dead from the start; hits come once it is there", async () => {
    const port = await freePort();
    const made = service(`redis://127.0.0.1:${port}`);
    await expectSourceForAll(made);
    await expectSourceForAll(made);
    expect(made.client.status).not.toBe("ready");
    const server = await startRedis({ args: ["--port", String(port)] });
    onTestFinished(() => server.stop());
    await expectHitsAgain(made);
    expect(made.client.status).toBe("ready");
  });

  it("killed after the start; hits come back after a restart", async () => {
    const server = await startServer();
    const made = service(server.url);
    await made.client.ready({ timeoutMs: 5_000 });
    await made.load("recovered");
    await made.cache.drain({ timeoutMs: 5_000 });
    await expectHitsAgain(made);
    const readyStatus = made.client.status;
    await server.kill();
    await expectSourceForAll(made);
    expect(made.client.status).not.toBe(readyStatus);
    await server.restart();
    await expectHitsAgain(made);
    expect(made.client.status).toBe(readyStatus);
    expect(made.client.stats().reconnects).toBeGreaterThan(0);
  });

  it("frozen; hits come back after SIGCONT", async () => {
    const server = await startServer();
    const made = service(server.url, { responseTimeoutMs: 30_000 });
    await made.client.ready({ timeoutMs: 5_000 });
    await server.freeze();
    await expectSourceForAll(made);
    await expectSourceForAll(made);
    expect(useCaseStats(made.cache, "GetUser").readTimeouts).toBe(2 * IDS.length);
    server.thaw();
    await until("every late reply was swallowed", () => made.client.stats().pending === 0);
    await expectHitsAgain(made);
    expect(made.client.stats().reconnects).toBe(0);
  });

  it("frozen for longer than responseTimeoutMs; hits come back after SIGCONT", async () => {
    const server = await startServer();
    const made = service(server.url, { responseTimeoutMs: 150 });
    await made.client.ready({ timeoutMs: 5_000 });
    await server.freeze();
    await expectSourceForAll(made);
    await until("the connection is known dead", () => made.client.status !== "ready");
    await until("what it held is free", () => made.client.stats().pending === 0);
    await expectSourceForAll(made);
    server.thaw();
    await expectHitsAgain(made);
  });

  it("frozen, thawed, killed and restarted under load: no caller sees an error", async () => {
    const server = await startServer();
    const made = service(server.url, { responseTimeoutMs: 200 });
    await made.client.ready({ timeoutMs: 5_000 });
    let running = true;
    let calls = 0;
    const errors: unknown[] = [];
    const callers = Array.from({ length: 20 }, async (_, caller) => {
      for (let call = 0; running; call += 1) {
        const id = `${caller} ${call % 50}`;
        await made.load(id).then(
          (value) => {
            calls += 1;
            expect(value).toBe(`source of ${id}`);
          },
          (error: unknown) => errors.push(error),
        );
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const more = async () => {
      const goal = calls + 200;
      await until("more calls were answered", () => calls >= goal);
    };
    for (let round = 0; round < 3; round += 1) {
      await more();
      await server.freeze();
      await more();
      server.thaw();
      await more();
      await server.kill();
      await more();
      await server.restart();
      await more();
    }
    running = false;
    await Promise.all(callers);
    expect(errors).toEqual([]);
    await expectHitsAgain(made);
  });
});

describe("A half-open connection", () => {
  it("falls open at the deadline though nothing rejects, is noticed, and replaced", async () => {
    const server = await startServer();
    const proxy = await startFaultProxy(server.port);
    onTestFinished(() => proxy.close());
    const made = service(proxy.url, { responseTimeoutMs: 200 });
    await made.client.ready({ timeoutMs: 5_000 });
    const accepted = proxy.accepted;
    proxy.blackHole();
    expect(await made.load("1")).toBe("source of 1");
    expect(useCaseStats(made.cache, "GetUser").readTimeouts).toBe(1);
    await until("the connection is dropped", () => made.client.stats().pending === 0);
    await until("another is tried", () => proxy.accepted > accepted);
    proxy.heal();
    await expectHitsAgain(made);
  });

  it("without commands on it is not mistaken for a dead one", async () => {
    const server = await startServer();
    const proxy = await startFaultProxy(server.port);
    onTestFinished(() => proxy.close());
    const made = service(proxy.url, { responseTimeoutMs: 20 });
    await made.client.ready({ timeoutMs: 5_000 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(made.client.status).toBe("ready");
    expect(proxy.accepted).toBe(1);
  });
});

describe("A command that timed out is never replayed", () => {
  it("when it waited for the first connection", async () => {
    const server = await startServer();
    const proxy = await startFaultProxy(server.port);
    onTestFinished(() => proxy.close());
    // Connections are accepted and nothing is answered: the first attempt stays under way.
    proxy.holdReplies();
    const made = service(proxy.url, { connectTimeoutMs: 60_000, responseTimeoutMs: 60_000 });
    await Promise.all(IDS.slice(0, 50).map((id) => made.load(id)));
    expect(useCaseStats(made.cache, "GetUser").readTimeouts).toBe(50);
    await server.command("CONFIG", "RESETSTAT");
    proxy.releaseReplies();
    await made.client.ready({ timeoutMs: 10_000 });
    await made.load("after");
    const info = String(await server.command("INFO", "commandstats"));
    expect(/cmdstat_get:calls=(\d+)/.exec(info)?.[1]).toBe("1");
  });

  it("when its connection was lost", async () => {
    const server = await startServer();
    const proxy = await startFaultProxy(server.port);
    onTestFinished(() => proxy.close());
    const made = service(proxy.url);
    await made.client.ready({ timeoutMs: 5_000 });
    proxy.blackHole();
    await Promise.all(IDS.slice(0, 50).map((id) => made.load(id)));
    proxy.reset();
    proxy.heal();
    await until("it reconnects", () => made.client.stats().reconnects > 0 && made.client.status === "ready");
    await server.command("CONFIG", "RESETSTAT");
    await made.load("after");
    const info = String(await server.command("INFO", "commandstats"));
    expect(/cmdstat_get:calls=(\d+)/.exec(info)?.[1]).toBe("1");
  });
});

describe("Budgets of a connection", () => {
  it("10,000 calls with 100 KB values against a frozen server stay within maxPending and maxPendingBytes", async () => {
    const server = await startServer();
    const maxPending = 500;
    const maxPendingBytes = 8 * 1024 * 1024;
    const made = service(server.url, { responseTimeoutMs: 60_000, maxPending, maxPendingBytes });
    await made.client.ready({ timeoutMs: 5_000 });
    await server.freeze();
    const value = "x".repeat(100_000);
    made.source.mockImplementation(async () => value);
    const before = process.memoryUsage().rss;
    for (let batch = 0; batch < 10; batch += 1) {
      const results = Promise.all(Array.from({ length: 1_000 }, (_, index) => made.load(`${batch} ${index}`)));
      expect(made.client.stats().pending).toBeLessThanOrEqual(maxPending);
      expect(new Set(await results)).toEqual(new Set([value]));
      expect(made.client.stats().pending).toBeLessThanOrEqual(maxPending);
      expect(made.client.stats().pendingBytes).toBeLessThanOrEqual(maxPendingBytes);
    }
    expect(made.source).toHaveBeenCalledTimes(10_000);
    // 10,000 values are 1 GB: had they been kept, this would show it.
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
    server.thaw();
    await until("the slots are free again", () => made.client.stats().pending === 0);
    expect(made.client.stats().pendingBytes).toBe(0);
  });

  it("writes of 100 KB against a frozen server stay within maxPendingBytes and fail beyond it", async () => {
    const server = await startServer();
    const maxPendingBytes = 4 * 1024 * 1024;
    const client = new RedisClient({ url: server.url, responseTimeoutMs: 60_000, maxPendingBytes });
    onTestFinished(() => client.close());
    await client.ready({ timeoutMs: 5_000 });
    await server.freeze();
    const value = "x".repeat(100_000);
    const writes = Promise.allSettled(
      Array.from({ length: 1_000 }, (_, index) =>
        client.write({ valueKey: `bounded ${index}`, cacheTtlMs: 60_000, value }),
      ),
    );
    await until("the first writes are on their way", () => client.stats().pending > 0);
    expect(client.stats().pendingBytes).toBeLessThanOrEqual(maxPendingBytes);
    server.thaw();
    const outcomes = await writes;
    const written = outcomes.filter(({ status }) => status === "fulfilled").length;
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(50);
    expect(client.stats()).toMatchObject({ pending: 0, pendingBytes: 0 });
  });

  it("over maxPending a read fails at once and the source runs, with the clock standing still", async () => {
    const hole = await startBlackHole();
    onTestFinished(() => hole.close());
    const server = await startServer();
    const made = service(server.url, { responseTimeoutMs: 60_000, maxPending: 10 });
    await made.client.ready({ timeoutMs: 5_000 });
    await server.freeze();
    const slow = Promise.all(IDS.slice(0, 10).map((id) => made.load(id)));
    const fast = Promise.all(IDS.slice(10, 20).map((id) => made.load(id)));
    expect(await fast).toEqual(IDS.slice(10, 20).map((id) => `source of ${id}`));
    await slow;
    expect(useCaseStats(made.cache, "GetUser").readTimeouts).toBe(10);
    expect(made.metrics.count("error", { error: "cache_read" })).toBe(20);
    expect(made.client.stats().pending).toBe(10);
  });

  it("a reply that came too late is counted with its lateness, hits apart from misses", async () => {
    const server = await startServer();
    const proxy = await startFaultProxy(server.port);
    onTestFinished(() => proxy.close());
    const made = service(proxy.url, { responseTimeoutMs: 60_000 });
    await made.client.ready({ timeoutMs: 5_000 });
    await made.load("hit");
    await made.cache.drain({ timeoutMs: 5_000 });
    proxy.holdReplies();
    await Promise.all([made.load("hit"), made.load("miss 1"), made.load("miss 2")]);
    proxy.releaseReplies();
    await until("the late replies came", () => made.client.stats().pending === 0);
    const { late } = made.client.stats();
    expect(late).toMatchObject({ hits: { count: 1 }, misses: { count: 2 } });
    expect(late.hits.maxMs).toBeGreaterThan(0);
  });
});
