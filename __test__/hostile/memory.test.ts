import { describe, expect, it, onTestFinished } from "vitest";
import { runScript } from "../support/child";
import { encodeFrame } from "../support/frame";
import { type Attack, startHostileServer, zstdBomb } from "../support/hostile-server";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const MIB = 1024 * 1024;

/** What a process may grow by, whatever the server does: an idle one that calls and reconnects grows as much. */
const SMALL_MIB = 64;

interface Case extends Attack {
  readonly name: string;
  /** What the operator is told. */
  readonly says: RegExp;
  readonly growthMib?: number;
}

const bulk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n")]);

/** A stored value whose envelope holds this zstd frame: marked as bytes, in binary encoding. */
const stored = (zstd: Buffer): Buffer => encodeFrame(Buffer.concat([Buffer.from([2]), zstd]), Date.now());

const CASES: readonly Case[] = [
  { name: "a bulk length without end", first: "$", forever: "9", says: /a line of more than/ },
  { name: "10 GB announced, and sent", first: "$10737418240\r\n", forever: "x", says: /more than 512 MiB/ },
  { name: "10 GB announced, a byte at a time", first: "$10737418240\r\n", forever: "x", everyMs: 5, says: /512 MiB/ },
  { name: "a length below zero", first: "$-9223372036854775809\r\n", says: /not the Redis protocol/ },
  { name: "arrays in arrays without end", forever: "*1\r\n", says: /nested more than 8 deep/ },
  { name: "arrays of a billion in arrays", forever: "*1000000000\r\n", says: /a million elements/ },
  { name: "a line without end", first: "+", forever: "x", says: /a line of more than/ },
  { name: "an error without end", first: "-ERR ", forever: "x", says: /a line of more than/ },
  { name: "push messages without end", forever: ">2\r\n+message\r\n+x\r\n", says: /another version/ },
  { name: "attributes without end", forever: "|1\r\n+ttl\r\n:1\r\n", says: /another version/ },
  { name: "a map of maps", forever: "%2147483647\r\n", says: /another version/ },
  { name: "a verbatim string", first: "=15\r\ntxt:Some string\r\n", says: /another version/ },
  { name: "replies that nobody asked for, without end", forever: "+OK\r\n", says: /none this command has/ },
  {
    name: "zstd that announces 10 GB",
    first: bulk(stored(zstdBomb({ statedBytes: 10 * 1024 * MIB, actualBytes: 1024 }))),
    says: /load/,
  },
  {
    name: "zstd that announces 500 MB and holds nothing of it",
    first: bulk(stored(zstdBomb({ statedBytes: 500 * MIB, actualBytes: 1024 }))),
    says: /load/,
  },
  {
    name: "zstd of 1 GB of zeros that does not say so",
    first: bulk(stored(zstdBomb({ actualBytes: 1024 * MIB }))),
    says: /load|did not settle|deadline/,
    // The bound is for one payload; the buffer that grows to it is copied once.
    growthMib: 1_200,
  },
];

/** Calls for a while, and tells what came of them, what was logged, and by how much the process grew. */
const SERVICE = `
const { readFileSync } = require("node:fs");
const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1024;
const log = [];
const write = (...args) => void log.push(args.map(String).join(" "));
const client = new dialcache.RedisClient({ url: process.env.URL, reconnect: { baseDelayMs: 5, maxDelayMs: 10 } });
const cache = new dialcache.DialCache({
  namespace: "hostile", redis: { client, readTimeoutMs: 200 },
  logger: { debug: write, warn: write, error: write },
});
const load = cache.cached(async (id) => "source of " + id, {
  keyType: "user_id", useCase: "GetUser", cacheKey: (id) => id,
  defaultConfig: new dialcache.DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
});
(async () => {
  await client.ready({ timeoutMs: 5000 });
  const before = peak();
  const until = performance.now() + 250;
  let wrong = 0;
  let calls = 0;
  while (performance.now() < until) {
    const ids = Array.from({ length: 10 }, () => String(calls++));
    const values = await Promise.all(ids.map((id) => cache.enable(() => load(id))));
    wrong += values.filter((value, index) => value !== "source of " + ids[index]).length;
  }
  const growth = peak() - before;
  const { pending } = client.stats();
  await cache.close();
  client.close();
  console.log(JSON.stringify({ calls, wrong, growth, log: [...new Set(log)].slice(0, 50), status: client.status }));
})();
`;

describe("A hostile server costs bounded memory and a clear line in the log; callers get the source's value", () => {
  it.each(CASES)("$name", async ({ says, growthMib = SMALL_MIB, ...attack }) => {
    const server = await startHostileServer(attack);
    onTestFinished(() => server.close());
    const { code, stdout, stderr } = await runScript(SERVICE, { URL: server.url });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { calls, wrong, growth, log } = JSON.parse(stdout);
    expect(calls).toBeGreaterThan(0);
    expect(wrong).toBe(0);
    expect(log.join("\n")).toMatch(says);
    expect(growth).toBeLessThan(growthMib);
  });
});

/** Reads that all hold much, while nobody takes what they bring: the event loop stands still. */
const STANDSTILL = `
const { readFileSync } = require("node:fs");
const rss = () => Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1024;
const bomb = Buffer.from(process.env.BOMB, "base64");
const own = { read: async () => bomb, write: async () => true, invalidate: async () => {} };
const client = process.env.URL ? new dialcache.RedisClient({ url: process.env.URL }) : own;
const cache = new dialcache.DialCache({ namespace: "n", redis: { client, readTimeoutMs: 20000 }, logger: null });
const load = cache.cached(async (id) => "source of " + id, {
  keyType: "user_id", useCase: "GetUser", cacheKey: (id) => id,
  serializer: { dump: String, load: (payload) => payload.length },
  defaultConfig: new dialcache.DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
});
const turn = () => new Promise((resolve) => setTimeout(resolve, 20));
(async () => {
  if (process.env.URL) await client.ready({ timeoutMs: 5000 });
  const before = rss();
  const calls = Array.from({ length: 40 }, (_, id) => cache.enable(() => load(String(id))));
  let most = 0;
  for (let stop = 0; stop < 3; stop += 1) {
    await turn();
    const until = performance.now() + 700;
    while (performance.now() < until) most = Math.max(most, rss() - before);
  }
  const values = new Set(await Promise.all(calls));
  console.log(JSON.stringify({ most, values: [...values] }));
  await cache.close();
  process.exit(0);
})();
`;

describe("40 reads of 64 MiB each, compressed to 2 KB, while the event loop stands still", () => {
  const bomb = zstdBomb({ statedBytes: 64 * MIB, actualBytes: 64 * MIB });

  it("native client: no more are decompressed than room is for", async () => {
    const server = await startHostileServer({ first: bulk(stored(bomb)) });
    onTestFinished(() => server.close());
    const { stdout, stderr } = await runScript(STANDSTILL, { URL: server.url, BOMB: "" });
    expect(stderr).toBe("");
    const { most, values } = JSON.parse(stdout);
    expect(values).toEqual([64 * MIB]);
    expect(most).toBeLessThan(1_100);
  });

  it("a client in JavaScript: one at a time", async () => {
    const { stdout, stderr } = await runScript(STANDSTILL, {
      BOMB: Buffer.concat([Buffer.from([2]), bomb]).toString("base64"),
    });
    expect(stderr).toBe("");
    const { most, values } = JSON.parse(stdout);
    expect(values).toEqual([64 * MIB]);
    expect(most).toBeLessThan(500);
  });
});
