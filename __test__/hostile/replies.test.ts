import type { Socket } from "node:net";
import { DialCache, RedisClient } from "dialcache-native";
import { describe, expect, it, onTestFinished } from "vitest";
import { startFaultServer } from "../support/fault-server";
import { encodeFrame } from "../support/frame";
import { until } from "../support/real-time";
import { recordLogger } from "../support/recorders";
import { loader, useCaseStats } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

type Answer = (command: string, socket: Socket) => void;

/** A server that greets, and answers every other command by its name; and a cache over a native client of it. */
async function service(answer: Answer, tracked = true) {
  const server = await startFaultServer((socket) => {
    socket.on("data", (chunk: Buffer) => {
      const commands = chunk.toString("latin1").matchAll(/\*\d+\r\n\$\d+\r\n([A-Z]+)\r\n/g);
      for (const [, command] of commands) {
        if (command === "PING") socket.write("+PONG\r\n");
        else answer(command as string, socket);
      }
    });
  });
  const client = new RedisClient({ url: server.url, reconnect: { baseDelayMs: 1, maxDelayMs: 2 } });
  const log = recordLogger();
  const cache = new DialCache({ namespace: "n", redis: { client, readTimeoutMs: 10_000 }, logger: log.logger });
  onTestFinished(async () => {
    await cache.close();
    client.close();
    await server.close();
  });
  await client.ready({ timeoutMs: 5_000 });
  const load = loader(cache, "GetUser", async (id) => `source of ${id}`, { trackForInvalidation: tracked });
  return { client, cache, log, load, ready: () => client.ready({ timeoutMs: 5_000 }) };
}

const frame = encodeFrame(JSON.stringify("stored"), Date.now());
const bulk = (bytes: Buffer | string): string => `$${bytes.length}\r\n${bytes.toString("latin1")}\r\n`;
const HIT = Buffer.from(`*2\r\n${bulk(frame)}${bulk("1")}`, "latin1");

describe("A reply that ends too early, wherever it is cut", () => {
  it("is a failed read; the source's value is served, and the next connection's hit", async () => {
    let cut: number | undefined;
    const { load, ready, cache, log } = await service((command, socket) => {
      if (command !== "MGET") return;
      if (cut === undefined) socket.write(HIT);
      else socket.end(HIT.subarray(0, cut));
    });
    for (cut of HIT.keys()) {
      expect(await load(`cut ${cut}`), `after ${cut} bytes`).toBe(`source of cut ${cut}`);
      await until("it is told that the connection ended", () => cache.stats().client?.status !== "ready");
      await ready();
    }
    expect(useCaseStats(cache, "GetUser")).toMatchObject({ readFailures: HIT.length, readTimeouts: 0 });
    expect(log.warnings).toHaveLength(HIT.length);
    cut = undefined;
    expect(await load("whole")).toBe("stored");
    expect(cache.stats()).toMatchObject({ flights: { active: 0 }, timers: { armed: 0 } });
  });
});

/** Well-formed, and no answer to what was asked. */
const WRONG = {
  GET: ["+OK\r\n", ":1\r\n", "*0\r\n", "*1\r\n$1\r\na\r\n", "+\r\n", "-\r\n", "-ERR\r\n"],
  MGET: [
    "+OK\r\n",
    ":1\r\n",
    "$-1\r\n",
    "*0\r\n",
    "*1\r\n$-1\r\n",
    "*3\r\n$-1\r\n$-1\r\n$-1\r\n",
    "*2\r\n:1\r\n:2\r\n",
  ],
  SET: [":1\r\n", "$-1\r\n", "$2\r\nOK\r\n", "*0\r\n", "+QUEUED\r\n", "-OOM no memory\r\n"],
  EVALSHA: ["+OK\r\n", "$-1\r\n", ":7\r\n", ":-1\r\n", "*0\r\n", "-BUSY script\r\n"],
};

describe("A reply of a kind that the command has not", () => {
  it.each([
    ["GET", false],
    ["MGET", true],
  ] as const)("to %s: a failed read, the source's value, and the connection stays", async (name, tracked) => {
    let reply = "";
    const { load, cache, client } = await service(
      (command, socket) => void (command === name && socket.write(reply)),
      tracked,
    );
    for (reply of WRONG[name]) expect(await load(reply), JSON.stringify(reply)).toBe(`source of ${reply}`);
    expect(useCaseStats(cache, "GetUser")).toMatchObject({ readFailures: WRONG[name].length, hits: { remote: 0 } });
    expect(client.stats()).toMatchObject({ status: "ready", reconnects: 0, pending: 0 });
  });

  it.each(["SET", "EVALSHA"] as const)("to %s: a failed write, and the connection stays", async (name) => {
    let reply = "";
    const { load, cache, client } = await service((command, socket) => {
      const misses = { MGET: "*2\r\n$-1\r\n$-1\r\n", SET: "+OK\r\n", EVALSHA: ":1\r\n", EVAL: ":1\r\n" };
      socket.write(command === name ? reply : misses[command as keyof typeof misses]);
    });
    for (reply of WRONG[name]) expect(await load(reply), JSON.stringify(reply)).toBe(`source of ${reply}`);
    expect(await cache.drain({ timeoutMs: 5_000 })).toBe(true);
    const { writes, errors } = useCaseStats(cache, "GetUser");
    expect({ writes, errors }).toMatchObject({
      writes: { ok: 0, failed: WRONG[name].length },
      errors: { cache_write: WRONG[name].length },
    });
    expect(client.stats()).toMatchObject({ status: "ready", reconnects: 0, pending: 0 });
  });

  it("to an invalidation: it says that it failed", async () => {
    let reply = "";
    const { cache } = await service((_command, socket) => void socket.write(reply));
    for (reply of WRONG.EVALSHA) {
      await expect(cache.invalidateRemote("user_id", "1"), JSON.stringify(reply)).rejects.toThrow();
    }
    const count = WRONG.EVALSHA.length;
    expect(cache.stats().invalidations).toEqual({ user_id: { calls: count, failed: count } });
  });
});
