import { randomBytes } from "node:crypto";
import { BufferSerializer, DialCache, type Serializer } from "dialcache-native";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/real-time";
import { startRedis } from "../support/redis-server";
import { CLIENT_RIGS, connectClient, loader, useCaseStats, useRig, type World } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const MIB = 1024 * 1024;
const PLAIN = new BufferSerializer() as Serializer<unknown>;
/** Values whose dump is this. */
const dumps = (dumped: () => string): Serializer<unknown> => ({ dump: dumped, load: (payload) => payload });

/** Another value takes the same connection afterwards, which must still be there. */
async function expectGoesOn(world: World) {
  const load = world.load("Other", async () => "small");
  await load("1");
  await world.written();
  await load("1");
  expect(world.stats("Other").hits.remote).toBe(1);
  if (world.native !== undefined) expect(world.native.stats().reconnects).toBe(0);
}

describe.each(CLIENT_RIGS)("$client, $time: a value of 600 MB", (kind) => {
  const rig = useRig(kind);

  it.each<[string, Serializer<unknown>]>([
    ["bytes", PLAIN],
    ["text", dumps(() => "€".repeat(200 * MIB))],
  ])("is not written, with an error that says why; the caller gets it: %s", async (_name, serializer) => {
    // Not touched, so it takes no memory.
    const value = Buffer.alloc(600 * MIB);
    const world = await rig.world({ readTimeoutMs: 25_000 });
    const load = world.load("GetUser", async () => value, { serializer });
    expect((await load("1")) === value).toBe(true);
    await world.written();
    expect(world.stats("GetUser").errors).toEqual({ serialization_dump: 1 });
    expect(world.log.warnings).toHaveLength(1);
    const bytes = `at most ${512 * MIB - 11} bytes, the most that Redis keeps under one key, got ${600 * MIB}`;
    expect(world.log.text()).toContain(bytes);
    expect(await world.stored("GetUser", "1")).toBeNull();
    await expectGoesOn(world);
  });
});

describe.each(CLIENT_RIGS)("$client, $time: a value bigger than the server was told to take", (kind) => {
  it("is not written; the caller gets it, and hits are back by themselves", async () => {
    await using server = await startRedis({ args: ["--proto-max-bulk-len", "1mb"] });
    const client = await connectClient(kind, server.url);
    const cache = new DialCache({ namespace: "giant", redis: { client, readTimeoutMs: 5_000 }, logger: null });
    onTestFinished(async () => {
      await cache.close();
      await client.close();
    });
    // Does not compress. The server ends the connection, perhaps before its error is read.
    const value = randomBytes(2 * MIB);
    const load = loader(cache, "GetUser", async () => value, { serializer: PLAIN });
    expect((await load("1")) === value).toBe(true);
    expect(await cache.drain({ timeoutMs: 20_000 })).toBe(true);
    expect(useCaseStats(cache, "GetUser").errors).toEqual({ cache_write: 1 });
    const other = loader(cache, "Other", async () => "small");
    await until("hits are back", async () => {
      await other("1");
      return useCaseStats(cache, "Other").hits.remote > 0;
    });
  });
});

describe("native client, real time: a value of more than maxPendingBytes", () => {
  const rig = useRig({ client: "native client", time: "real time" });

  it("is not written, with an error that says why; the caller gets it", async () => {
    const world = await rig.world({ readTimeoutMs: 25_000, clientOptions: { maxPendingBytes: MIB } });
    const value = Buffer.alloc(2 * MIB, 0xff);
    const load = world.load("GetUser", async () => value, { serializer: PLAIN });
    expect((await load("1")) === value).toBe(true);
    await world.written();
    expect(world.stats("GetUser").errors).toEqual({ cache_write: 1 });
    expect(world.log.text()).toContain("the request has more bytes than maxPendingBytes");
    await expectGoesOn(world);
  });
});
