import { getEventListeners } from "node:events";
import { DialCache, DialCacheKeyConfig, RedisReadTimeoutError } from "dialcache-native";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ADAPTERS, type AdapterKind } from "../support/adapters";
import { encodeFrame } from "../support/frame";
import { turns, until } from "../support/real-time";
import { recordLogger } from "../support/recorders";
import { type RedisServer, startRedis } from "../support/redis-server";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const KEY = "users:user_id:1#GetUser:dialcache-frame-v1";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

beforeEach(async () => {
  server.thaw();
  await server.command("FLUSHALL");
  await server.command("SET", KEY, encodeFrame("stored", 1));
  await server.command("CONFIG", "RESETSTAT");
});

/** How often the server has executed a command. */
async function calls(command: string): Promise<number> {
  const info = String(await server.command("INFO", "commandstats"));
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(info)?.[1] ?? 0);
}

async function connect(kind: AdapterKind) {
  const { client, close } = await kind.connect({ port: server.port });
  onTestFinished(() => {
    server.thaw();
    close();
  });
  return { client, close };
}

/** A promise and how it stands. */
function watch<T>(promise: T | PromiseLike<T>) {
  const watched = { state: "pending" as "pending" | "fulfilled" | "rejected", value: undefined as unknown };
  const settled = Promise.resolve(promise).then(
    (value) => Object.assign(watched, { state: "fulfilled", value }),
    (value: unknown) => Object.assign(watched, { state: "rejected", value }),
  );
  return Object.assign(watched, { settled });
}

describe.each(ADAPTERS)("$name", (kind) => {
  it("does not unsend a dispatched read, and gives later ones their own replies", async () => {
    const { client } = await connect(kind);
    const deadline = new AbortController();
    await client.read({ valueKey: KEY });
    await server.freeze();
    const late = watch(client.read({ valueKey: KEY }, { timeoutMs: 10, signal: deadline.signal }));
    const other = watch(client.read({ valueKey: "another" }));
    // node-redis 5 and 6 send in a later turn.
    await turns(5);
    deadline.abort(new Error("too late"));
    server.thaw();
    await Promise.all([late.settled, other.settled]);
    expect(late).toMatchObject({ state: "fulfilled", value: { payload: "stored" } });
    expect(other).toMatchObject({ state: "fulfilled", value: null });
    expect(await calls("get")).toBe(3);
  });

  it("keeps nothing on a signal that lives on", async () => {
    const { client } = await connect(kind);
    const { signal } = new AbortController();
    for (let read = 0; read < 20; read += 1) await client.read({ valueKey: KEY }, { timeoutMs: 1_000, signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("lets callers go at the read deadline of a frozen server, and hits come back by themselves", async () => {
    const { client } = await connect(kind);
    const log = recordLogger();
    const cache = new DialCache({ redis: { client, readTimeoutMs: 20 }, logger: log.logger });
    onTestFinished(() => cache.close());
    const load = cache.cached(async (_id: string) => "loaded", {
      keyType: "id",
      useCase: "Frozen",
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
    });
    await server.command("SET", "urn:id:1#Frozen:dialcache-frame-v1", encodeFrame('"stored"', 1));
    await server.freeze();
    expect(await cache.enable(() => load("1"))).toBe("loaded");
    expect(log.lines.flatMap(({ args }) => args).some((arg) => arg instanceof RedisReadTimeoutError)).toBe(true);
    server.thaw();
    await until("a hit", async () => (await cache.enable(() => load("1"))) === "stored");
  });

  it("settles what is pending when it is closed while the server is frozen", async () => {
    const { client, close } = await connect(kind);
    await server.freeze();
    const reads = Array.from({ length: 50 }, () => watch(client.read({ valueKey: KEY })));
    close();
    await Promise.all(reads.map(({ settled }) => settled));
    expect(new Set(reads.map(({ state }) => state))).toEqual(new Set(["rejected"]));
  });
});

describe.each(ADAPTERS.filter(({ takesSignal }) => takesSignal))(
  "$name, whose signal takes queued reads back",
  (kind) => {
    it("never sends a read that was aborted while it was queued", async () => {
      const { client } = await connect(kind);
      await server.kill();
      const deadline = new AbortController();
      const read = async () => client.read({ valueKey: KEY }, { timeoutMs: 10, signal: deadline.signal });
      // Until the client has noticed, a read is sent, and rejected with its connection.
      await until("a read is queued", async () => {
        const tried = watch(read());
        await Promise.race([tried.settled, new Promise((resolve) => setTimeout(resolve, 20))]);
        return tried.state === "pending";
      });
      const queued = Array.from({ length: 100 }, () => watch(read()));
      const kept = watch(client.read({ valueKey: "kept" }));
      deadline.abort(new Error("too late"));
      await Promise.all(queued.slice(1).map(({ settled }) => settled));
      expect(new Set(queued.slice(1).map(({ state }) => state))).toEqual(new Set(["rejected"]));
      await server.restart();
      await kept.settled;
      expect(kept).toMatchObject({ state: "fulfilled", value: null });
      // The one that was queued first of all is older than these hundred.
      expect(await calls("get")).toBe(kind.keepsOldest ? 2 : 1);
    });

    it("goes on when reads are aborted in the order of their queue, whatever is queued meanwhile", async () => {
      const { client } = await connect(kind);
      await server.freeze();
      const reads: { state: string; settled: Promise<unknown> }[] = [];
      for (let round = 0; round < 5; round += 1) {
        const deadlines = Array.from({ length: 10 }, () => new AbortController());
        for (const { signal } of deadlines)
          reads.push(watch(client.read({ valueKey: KEY }, { timeoutMs: 10, signal })));
        for (const deadline of deadlines) deadline.abort(new Error("too late"));
        await turns(round);
      }
      const last = watch(client.read({ valueKey: KEY }));
      server.thaw();
      await last.settled;
      expect(last).toMatchObject({ state: "fulfilled", value: { payload: "stored" } });
      await Promise.all(reads.map(({ settled }) => settled));
      expect(await client.read({ valueKey: KEY })).toMatchObject({ payload: "stored" });
    });

    it("does not send a read whose signal was aborted before", async () => {
      const { client } = await connect(kind);
      const read = watch(client.read({ valueKey: KEY }, { timeoutMs: 10, signal: AbortSignal.abort() }));
      await read.settled;
      expect(read.state).toBe("rejected");
      expect(await calls("get")).toBe(0);
    });

    it("counts its queue right after dispatched reads were aborted, and ends cleanly", async () => {
      const { client, close } = await connect(kind);
      await server.freeze();
      const deadline = new AbortController();
      const reads = Array.from({ length: 100 }, () =>
        watch(client.read({ valueKey: KEY }, { timeoutMs: 10, signal: deadline.signal })),
      );
      deadline.abort(new Error("too late"));
      const next = watch(client.read({ valueKey: KEY }));
      close();
      await Promise.all([next.settled, ...reads.map(({ settled }) => settled)]);
      expect(new Set([next, ...reads].map(({ state }) => state))).toEqual(new Set(["rejected"]));
    });
  },
);

describe.each(ADAPTERS.filter(({ name }) => name.startsWith("io")))("$name, which takes no signal", (kind) => {
  it("sends a queued read although its deadline has passed", async () => {
    const { client } = await connect(kind);
    await server.kill();
    const deadline = new AbortController();
    const read = watch(client.read({ valueKey: KEY }, { timeoutMs: 10, signal: deadline.signal }));
    deadline.abort(new Error("too late"));
    await server.restart();
    await read.settled;
    expect(read).toMatchObject({ state: "fulfilled", value: null });
    expect(await calls("get")).toBe(1);
  });
});

describe.each(ADAPTERS.filter(({ name }) => name === "valkey-glide"))("$name, which takes no signal", (kind) => {
  it("ends what is pending by its own request timeout, which takes nothing back", async () => {
    const { client, close } = await kind.connect({ port: server.port, requestTimeoutMs: 50 });
    onTestFinished(close);
    await server.freeze();
    const read = watch(client.read({ valueKey: KEY }, { timeoutMs: 10, signal: AbortSignal.abort() }));
    const write = watch(client.write({ valueKey: "late", cacheTtlMs: 60_000, value: "a" }));
    await Promise.all([read.settled, write.settled]);
    for (const { state, value } of [read, write]) {
      expect(state).toBe("rejected");
      expect(String(value)).toMatch(/time(d )?out/i);
    }
    server.thaw();
    await until(
      "the server has carried both out",
      async () => (await calls("get")) === 1 && (await calls("set")) === 1,
    );
  });
});
