import { DialCacheRedisPlaceholderLostError } from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type AdapterKind, CLIENTS } from "../support/adapters";
import { type CommandTap, startCommandTap } from "../support/command-tap";
import { type RedisServer, startRedis } from "../support/redis-server";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const valueKey = "{users:user_id:1}#GetUser:dialcache-frame-v1";
const watermarkKey = "{users:user_id:1}#watermark";
const request = { valueKey, watermarkKey, cacheTtlMs: 60_000, value: Buffer.from("ff00", "hex") };

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A connected adapter whose commands are seen. */
async function tapped(kind: AdapterKind) {
  await server.command("FLUSHALL");
  await server.command("SCRIPT", "FLUSH");
  const tap = await startCommandTap(server.port);
  const { client, close } = await kind.connect({ port: tap.port });
  onTestFinished(async () => {
    close();
    await tap.close();
  });
  return { client, tap };
}

const CACHE_COMMANDS = ["GET", "MGET", "SET", "EVAL", "EVALSHA", "MULTI", "EXEC"];
const told = (tap: CommandTap) => tap.commands.filter(({ name }) => CACHE_COMMANDS.includes(name));
const names = (tap: CommandTap) => told(tap).map(({ name }) => name);

describe.each(CLIENTS)("a tracked write of $name", (kind) => {
  it("is a SET and a stamp, in this order on one connection, and later writes need no more", async () => {
    const { client, tap } = await tapped(kind);
    await client.write(request);
    // The server did not know the script: the stamp alone went out again.
    expect(names(tap)).toEqual(["SET", "EVALSHA", "EVAL"]);
    await client.write(request);
    expect(names(tap).slice(3)).toEqual(["SET", "EVALSHA"]);
    expect(new Set(told(tap).map(({ connection }) => connection)).size).toBe(1);
  });

  it("sends a placeholder, and its nonce with each stamp", async () => {
    const { client, tap } = await tapped(kind);
    await client.write(request);
    const [set, stamp, again] = told(tap).map(({ args }) => args) as [Buffer[], Buffer[], Buffer[]];
    const frame = set[2] as Buffer;
    expect(frame[0]).toBe(0);
    expect(frame.subarray(9).toString("hex")).toBe("01ff00");
    const nonce = frame.subarray(1, 9).toString("hex");
    expect(stamp.slice(2).map(String)).toEqual(again.slice(2).map(String));
    for (const args of [stamp, again]) {
      expect(args.slice(2, 5).map(String)).toEqual(["2", valueKey, watermarkKey]);
      expect((args[5] as Buffer).toString("hex")).toBe(nonce);
      expect(String(args[6])).toBe("60000");
      // The payload never passes through the script.
      expect(args.some((arg) => arg.includes(request.value))).toBe(false);
    }
    expect(set.slice(3).map(String)).toEqual(["PX", "60000"]);
  });

  it("keeps its order among many that go out at once", async () => {
    const { client, tap } = await tapped(kind);
    await client.write(request);
    const before = told(tap).length;
    const writes = Array.from({ length: 200 }, (_, index) =>
      client.write({
        ...request,
        valueKey: `{users:user_id:${index}}`,
        watermarkKey: `{users:user_id:${index}}#watermark`,
      }),
    );
    expect(new Set(await Promise.all(writes))).toEqual(new Set([true]));
    const sent = told(tap).slice(before);
    expect(sent).toHaveLength(400);
    const keys = (name: string) =>
      sent.filter((command) => command.name === name).map(({ args }) => String(args[name === "SET" ? 1 : 3]));
    expect(keys("EVALSHA")).toEqual(keys("SET"));
    const position = (name: string, key: string) =>
      sent.findIndex((command) => command.name === name && command.args.some((arg) => String(arg) === key));
    for (const key of keys("SET")) expect(position("SET", key)).toBeLessThan(position("EVALSHA", key));
  });

  it.each([
    ["deleted", () => server.command("DEL", valueKey)],
    ["overwritten by another writer", () => server.command("SET", valueKey, Buffer.from("00".repeat(12), "hex"))],
    ["evicted when the stamp is sent again", () => server.command("DEL", valueKey), "EVAL"],
  ])("rejects when its placeholder was %s", async (_name, act, name = "EVALSHA") => {
    const { client, tap } = await tapped(kind);
    if (name === "EVALSHA") await client.write(request);
    tap.before(name, act);
    await expect(client.write(request)).rejects.toThrow(DialCacheRedisPlaceholderLostError);
    expect(await client.read(request)).toBeNull();
  });

  it("is refused when an invalidation comes between", async () => {
    const { client, tap } = await tapped(kind);
    await client.write(request);
    tap.before("EVALSHA", async () => server.command("SET", watermarkKey, "99999999999999"));
    expect(await client.write(request)).toBe(false);
    expect(await server.command("EXISTS", valueKey)).toBe(0);
  });

  it("rejects with the error of its SET, whatever the stamp answers", async () => {
    const { client } = await tapped(kind);
    await client.write(request);
    await server.command("CONFIG", "SET", "maxmemory", "1");
    onTestFinished(async () => void (await server.command("CONFIG", "SET", "maxmemory", "0")));
    await expect(client.write(request)).rejects.toThrow(/OOM|OutOfMemory/i);
  });

  it("of an untracked key is one SET, and no script", async () => {
    const { client, tap } = await tapped(kind);
    await client.write({ valueKey, cacheTtlMs: 60_000, value: "a" });
    await client.read({ valueKey });
    expect(names(tap)).toEqual(["SET", "GET"]);
  });

  it("is read by one MGET", async () => {
    const { client, tap } = await tapped(kind);
    await client.read(request);
    expect(told(tap).map(({ args }) => args.map(String))).toEqual(
      [["MGET", valueKey, watermarkKey]].map((args) =>
        args.map((arg) => (arg === "MGET" ? expect.stringMatching(/^mget$/i) : arg)),
      ),
    );
  });
});
