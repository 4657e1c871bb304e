import type { DialCacheRedisClient } from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENTS, type ConnectedAdapter, payloadOf } from "../support/adapters";
import { decodeFrame, encodeFrame } from "../support/frame";
import { type RedisServer, startRedis } from "../support/redis-server";
import { SERVERS } from "../support/servers";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

/** Milliseconds by which a time to live may already have gone down when it is looked at. */
const SLACK_MS = 20_000;
const TTL_MS = 600_000;
const MARGIN_MS = 60_000;

const PAYLOADS = [
  ["JSON", '{"name":"Zoë","n":[1,2.5,null]}'],
  ["an empty string", ""],
  ["text of every length in UTF-8", "a\u0000é€😀\r\n$5\r\n"],
  ["bytes", Buffer.from([0xff, 0x00, 0x80, 0xc3, 0x28, 0x0d, 0x0a])],
  ["no bytes", Buffer.alloc(0)],
  ["every byte", Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
  ["a long string", "é".repeat(300_000)],
  ["many bytes", Buffer.alloc(1_000_000, 0xfe)],
] as const;

/** A payload as text that tells strings from bytes: comparing long Buffers element by element takes seconds. */
function told(hit: Awaited<ReturnType<DialCacheRedisClient["read"]>>): string {
  const payload = payloadOf(hit);
  return typeof payload === "string" ? `text ${payload}` : `bytes ${payload?.toString("hex")}`;
}

describe.each(SERVERS)("$name", ({ binary }) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ binary });
  });
  afterAll(() => server.stop());

  describe.each(CLIENTS)("$name", (kind) => {
    let connected: ConnectedAdapter;
    let client: DialCacheRedisClient;
    let entity = 0;
    beforeAll(async () => {
      connected = await kind.connect({ port: server.port });
      client = connected.client;
    });
    afterAll(() => connected.close());

    /** Keys nobody has used. */
    const fresh = () => {
      entity += 1;
      const tag = `{${encodeURIComponent(kind.name)}:user_id:${entity}}`;
      return { valueKey: `${tag}?a=%C3%A9#GetUser:dialcache-frame-v1`, watermarkKey: `${tag}#watermark` };
    };
    const tracked = () => ({ ...fresh(), cacheTtlMs: TTL_MS });
    const untracked = () => ({ valueKey: fresh().valueKey, cacheTtlMs: TTL_MS });
    const ttlOf = async (key: string) => Number(await server.command("PTTL", key));
    const numberAt = async (key: string) => Number(String(await server.command("GET", key)));
    const serverTime = async () => {
      const [seconds, micros] = (await server.command("TIME")) as Buffer[];
      return Number(String(seconds)) * 1000 + Math.floor(Number(String(micros)) / 1000);
    };
    const expectTtl = async (key: string, ms: number) => {
      const ttl = await ttlOf(key);
      expect(ttl).toBeLessThanOrEqual(ms);
      expect(ttl).toBeGreaterThan(ms - SLACK_MS);
    };

    describe("untracked keys", () => {
      it.each(PAYLOADS)("brings %s back as it was", async (_name, value) => {
        const request = untracked();
        expect(await client.read(request)).toBeNull();
        expect(await client.write({ ...request, value })).toBe(true);
        expect(told(await client.read(request))).toBe(told(value));
        await expectTtl(request.valueKey, TTL_MS);
      });

      it("stores the frame of the wire format, with the writer's time", async () => {
        const request = untracked();
        const before = Date.now();
        await client.write({ ...request, value: "é" });
        const stored = decodeFrame((await server.command("GET", request.valueKey)) as Buffer);
        expect(stored).toEqual({ version: 1, payload: "é", createdAtMs: expect.any(Number) });
        expect(stored!.createdAtMs).toBeGreaterThanOrEqual(before);
        expect(stored!.createdAtMs).toBeLessThanOrEqual(Date.now());
      });

      it("serves what others wrote, and nothing that is no frame", async () => {
        const request = untracked();
        await server.command("SET", request.valueKey, encodeFrame(Buffer.from([0, 255]), 5));
        expect(payloadOf(await client.read(request))).toEqual(Buffer.from([0, 255]));
        for (const bytes of ["", "short", Buffer.from("00".repeat(12), "hex"), Buffer.from("02".repeat(12), "hex")]) {
          await server.command("SET", request.valueKey, bytes);
          expect(await client.read(request)).toBeNull();
        }
      });

      it("rejects a read of an unknown encoding, and of another type", async () => {
        const request = untracked();
        const frame = encodeFrame("a", 5);
        frame[9] = 9;
        await server.command("SET", request.valueKey, frame);
        await expect(client.read(request)).rejects.toMatchObject({ code: "DIALCACHE_REDIS_PAYLOAD_ENCODING" });
        await server.command("DEL", request.valueKey);
        await server.command("LPUSH", request.valueKey, "a");
        await expect(client.read(request)).rejects.toThrow("WRONGTYPE");
        // A write replaces whatever is there.
        expect(await client.write({ ...request, value: "b" })).toBe(true);
        expect(payloadOf(await client.read(request))).toBe("b");
      });

      it("rejects a write that the server refuses", async () => {
        await expect(client.write({ ...untracked(), cacheTtlMs: 0, value: "a" })).rejects.toThrow(/invalid expire/i);
      });
    });

    describe("tracked keys", () => {
      it.each(PAYLOADS)("brings %s back as it was", async (_name, value) => {
        const request = tracked();
        expect(await client.read(request)).toBeNull();
        expect(await client.write({ ...request, value })).toBe(true);
        expect(told(await client.read(request))).toBe(told(value));
        await expectTtl(request.valueKey, TTL_MS);
      });

      it("stamps values with the server's time, and keeps their watermark a minute longer", async () => {
        const request = tracked();
        const before = await serverTime();
        await client.write({ ...request, value: "a" });
        const stored = decodeFrame((await server.command("GET", request.valueKey)) as Buffer);
        expect(stored!.createdAtMs).toBeGreaterThanOrEqual(before);
        expect(stored!.createdAtMs).toBeLessThanOrEqual(await serverTime());
        expect(await numberAt(request.watermarkKey)).toBeLessThan(stored!.createdAtMs);
        await expectTtl(request.watermarkKey, TTL_MS + MARGIN_MS);
        // A value that lives less does not shorten it.
        await client.write({ ...request, cacheTtlMs: 1_000, value: "b" });
        await expectTtl(request.watermarkKey, TTL_MS + MARGIN_MS);
        expect(payloadOf(await client.read(request))).toBe("b");
      });

      it("takes a value without a watermark, or with one that is no number, for a miss", async () => {
        const request = tracked();
        await client.write({ ...request, value: "a" });
        for (const watermark of [undefined, "", "-1", "1e3", "abc", "99999999999999"]) {
          await server.command("DEL", request.watermarkKey);
          if (watermark !== undefined) await server.command("SET", request.watermarkKey, watermark);
          expect(await client.read(request), String(watermark)).toBeNull();
        }
        await server.command("SET", request.watermarkKey, "1");
        expect(payloadOf(await client.read(request))).toBe("a");
      });

      it("takes another type under the value's key for a miss, and replaces it", async () => {
        const request = tracked();
        await server.command("LPUSH", request.valueKey, "a");
        expect(await client.read(request)).toBeNull();
        expect(await client.write({ ...request, value: "b" })).toBe(true);
        expect(payloadOf(await client.read(request))).toBe("b");
      });

      it("rejects writes and invalidations when the watermark's key has another type", async () => {
        const request = tracked();
        const { watermarkKey } = request;
        await server.command("LPUSH", watermarkKey, "a");
        await expect(client.write({ ...request, value: "b" })).rejects.toThrow("WRONGTYPE");
        await expect(client.invalidate({ watermarkKey, futureBufferMs: 0 })).rejects.toThrow("WRONGTYPE");
        expect(await client.read(request)).toBeNull();
      });

      it("rejects with the SET's error, and leaves nothing to serve", async () => {
        const request = { ...tracked(), cacheTtlMs: 0 };
        await expect(client.write({ ...request, value: "a" })).rejects.toThrow(/invalid expire/i);
        expect(await server.command("EXISTS", request.valueKey)).toBe(0);
      });
    });

    describe("invalidation", () => {
      it("turns what is stored into a miss, and refuses what is written within the buffer", async () => {
        const request = tracked();
        const { watermarkKey } = request;
        await client.write({ ...request, value: "old" });
        await client.invalidate({ watermarkKey, futureBufferMs: TTL_MS });
        expect(await client.read(request)).toBeNull();
        expect(await client.write({ ...request, value: "late" })).toBe(false);
        expect(await server.command("EXISTS", request.valueKey)).toBe(0);
        expect(await client.read(request)).toBeNull();
      });

      it("without a buffer lets new values in at once", async () => {
        const request = tracked();
        await client.write({ ...request, value: "old" });
        await client.invalidate({ watermarkKey: request.watermarkKey, futureBufferMs: 0 });
        expect(await client.read(request)).toBeNull();
        // The server's clock counts milliseconds: a write in the same one as the invalidation is barred.
        while (!(await client.write({ ...request, value: "new" })));
        expect(payloadOf(await client.read(request))).toBe("new");
      });

      it("raises the watermark to the server's time plus the buffer, and keeps it a minute longer", async () => {
        const { watermarkKey } = fresh();
        const before = await serverTime();
        await client.invalidate({ watermarkKey, futureBufferMs: TTL_MS });
        const watermark = await numberAt(watermarkKey);
        expect(watermark).toBeGreaterThanOrEqual(before + TTL_MS);
        expect(watermark).toBeLessThanOrEqual((await serverTime()) + TTL_MS);
        await expectTtl(watermarkKey, TTL_MS + MARGIN_MS);
      });

      it("is idempotent, and lowers neither a watermark nor its time to live", async () => {
        const { watermarkKey } = fresh();
        await client.invalidate({ watermarkKey, futureBufferMs: TTL_MS });
        const watermark = await numberAt(watermarkKey);
        await client.invalidate({ watermarkKey, futureBufferMs: 0 });
        await client.invalidate({ watermarkKey, futureBufferMs: 1_000 });
        expect(await numberAt(watermarkKey)).toBe(watermark);
        await expectTtl(watermarkKey, TTL_MS + MARGIN_MS);
        await server.command("PERSIST", watermarkKey);
        await client.invalidate({ watermarkKey, futureBufferMs: 2 * TTL_MS });
        expect(await numberAt(watermarkKey)).toBeGreaterThan(watermark);
        expect(await ttlOf(watermarkKey)).toBe(-1);
      });

      it("takes the longest buffer", async () => {
        const { watermarkKey } = fresh();
        await client.invalidate({ watermarkKey, futureBufferMs: 31_536_000_000 });
        await expectTtl(watermarkKey, 31_536_000_000 + MARGIN_MS);
      });
    });

    it("goes on after SCRIPT FLUSH", async () => {
      const request = tracked();
      for (const value of ["a", "b"]) {
        await server.command("SCRIPT", "FLUSH");
        expect(await client.write({ ...request, value })).toBe(true);
        expect(payloadOf(await client.read(request))).toBe(value);
      }
      await server.command("SCRIPT", "FLUSH");
      await client.invalidate({ watermarkKey: request.watermarkKey, futureBufferMs: TTL_MS });
      expect(await client.read(request)).toBeNull();
    });

    it("settles many requests at once", async () => {
      const requests = Array.from({ length: 500 }, tracked);
      const written = requests.map((request, index) => client.write({ ...request, value: Buffer.from([index & 255]) }));
      expect(new Set(await Promise.all(written))).toEqual(new Set([true]));
      const read = await Promise.all(requests.map((request) => client.read(request)));
      expect(read.map(payloadOf)).toEqual(requests.map((_, index) => Buffer.from([index & 255])));
    });
  });
});
