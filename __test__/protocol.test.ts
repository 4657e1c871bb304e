import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  DialCacheRedisPayloadEncodingError,
  DialCacheRedisPayloadError,
  DialCacheRedisPlaceholderLostError,
  DialCacheRedisProtocolError,
} from "dialcache-native";
import * as protocol from "dialcache-native/redis-protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const { decodeFrame, decodeTrackedReply, encodeFrame, encodePlaceholder, watermarkAdmits } = protocol;

// 2023-11-14T22:13:20.123Z, as the wire format writes it.
const TIME = 1_700_000_000_123;
const TIME_HEX = "0000018bcfe5687b";

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");

/** Stored bytes written by hand, and what they stand for. */
const SERVED = [
  { name: "text", bytes: hex(`01 ${TIME_HEX} 00 7b2261223a317d`), payload: '{"a":1}' },
  { name: "no text", bytes: hex(`01 ${TIME_HEX} 00`), payload: "" },
  { name: "text beyond ASCII", bytes: hex(`01 ${TIME_HEX} 00 c3a9 e282ac f09f9880`), payload: "é€😀" },
  { name: "text with NUL", bytes: hex(`01 ${TIME_HEX} 00 00 61`), payload: "\u0000a" },
  {
    name: "JSON undefined",
    bytes: Buffer.concat([hex(`01 ${TIME_HEX} 00`), Buffer.from("__dialcache_json_undefined_v1__")]),
    payload: "__dialcache_json_undefined_v1__",
  },
  { name: "bytes", bytes: hex(`01 ${TIME_HEX} 01 dead beef`), payload: hex("deadbeef") },
  { name: "no bytes", bytes: hex(`01 ${TIME_HEX} 01`), payload: Buffer.alloc(0) },
  { name: "bytes that are no UTF-8", bytes: hex(`01 ${TIME_HEX} 01 ff 00 80 c3`), payload: hex("ff0080c3") },
  { name: "bytes that are an envelope", bytes: hex(`01 ${TIME_HEX} 01 00 01 2a`), payload: hex("00012a") },
  { name: "line ends", bytes: hex(`01 ${TIME_HEX} 01 0d0a 24 35 0d0a`), payload: hex("0d0a24350d0a") },
];

describe("frames", () => {
  it.each(SERVED)("writes and reads $name byte by byte", ({ bytes, payload }) => {
    expect(encodeFrame(payload, TIME).toString("hex")).toBe(bytes.toString("hex"));
    expect(decodeFrame(bytes)).toEqual({ payload, createdAtMs: TIME });
  });

  it.each([
    ["nothing", null],
    ["no bytes", hex("")],
    ["a header that is cut", hex(`01 ${TIME_HEX}`)],
    ["a placeholder", hex(`00 ${TIME_HEX} 00 61`)],
    ["a placeholder of an unknown encoding", hex(`00 ${TIME_HEX} 07 61`)],
    ["another version", hex(`02 ${TIME_HEX} 00 61`)],
    ["text that is no frame", Buffer.from('{"a":1,"b":2}')],
    ["a time that cannot be counted", hex("01 0020000000000000 00 61")],
  ])("takes %s for a miss", (_name, bytes) => {
    expect(decodeFrame(bytes)).toBeNull();
  });

  it("reads the last time that can be counted", () => {
    expect(decodeFrame(hex("01 001fffffffffffff 00"))?.createdAtMs).toBe(Number.MAX_SAFE_INTEGER);
  });

  it.each([2, 3, 127, 255])("refuses encoding %i", (encoding) => {
    const bytes = hex(`01 ${TIME_HEX} 00 61`);
    bytes[9] = encoding;
    expect(() => decodeFrame(bytes)).toThrow(DialCacheRedisPayloadEncodingError);
  });

  it.each([
    ["text", "01"],
    ["a number", 1],
    ["nothing at all", undefined],
    ["a list", [hex("01")]],
  ])("refuses a reply that is %s", (_name, reply) => {
    expect(() => decodeFrame(reply)).toThrow(DialCacheRedisPayloadError);
  });

  it("takes bytes of any kind as a reply", () => {
    const bytes = hex(`ff 01 ${TIME_HEX} 01 2a`);
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset + 1, bytes.length - 1);
    expect(decodeFrame(view)).toEqual({ payload: hex("2a"), createdAtMs: TIME });
  });

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])("refuses to write the time %d", (time) => {
    expect(() => encodeFrame("", time)).toThrow(RangeError);
  });

  it("refuses to write what is neither text nor a Buffer", () => {
    for (const payload of [1, null, undefined, {}, new Uint8Array(1)]) {
      expect(() => encodeFrame(payload as never, 0)).toThrow(DialCacheRedisPayloadError);
      expect(() => encodePlaceholder(payload as never)).toThrow(DialCacheRedisPayloadError);
    }
  });

  it("brings back whatever was written", () => {
    const payloads = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(payloads, fc.maxSafeNat(), (payload, createdAtMs) => {
        expect(decodeFrame(encodeFrame(payload, createdAtMs))).toEqual({ payload, createdAtMs });
      }),
    );
  });
});

describe("placeholders", () => {
  it("hold their nonce where the time will be, byte by byte", () => {
    const { frame, nonce } = encodePlaceholder("é", hex("0102030405060708"));
    expect(frame.toString("hex")).toBe("00010203040506070800c3a9");
    expect(nonce.toString("hex")).toBe("0102030405060708");
    expect(encodePlaceholder(hex("ff"), hex("ffffffffffffffff")).frame.toString("hex")).toBe("00ffffffffffffffff01ff");
  });

  it("are never served", () => {
    expect(decodeFrame(encodePlaceholder("a").frame)).toBeNull();
  });

  it("have a nonce each", () => {
    const nonces = Array.from({ length: 1_000 }, () => encodePlaceholder("a").nonce.toString("hex"));
    expect(new Set(nonces).size).toBe(1_000);
  });

  it("refuse a nonce of another length", () => {
    expect(() => encodePlaceholder("a", Buffer.alloc(7))).toThrow(RangeError);
  });
});

describe("watermarks", () => {
  it.each([
    ["before", String(TIME - 1), true],
    ["zero", "0", true],
    ["with leading zeros", "0001", true],
    ["the same", String(TIME), false],
    ["after", String(TIME + 1), false],
    ["missing", null, false],
    ["empty", "", false],
    ["negative", "-1", false],
    ["with a sign", "+1", false],
    ["a fraction", "1.5", false],
    ["an exponent", "1e3", false],
    ["hexadecimal", "0x1", false],
    ["with a blank", " 1", false],
    ["with a line end", "1\n", false],
    ["text", "abc", false],
    ["infinite", "Infinity", false],
    ["too big for a number", "9".repeat(400), false],
    ["digits of another script", "١", false],
  ])("that is %s", (_name, watermark, admits) => {
    expect(watermarkAdmits(watermark, TIME)).toBe(admits);
    const stored = watermark === null ? null : Buffer.from(watermark);
    const hit = { payload: "a", createdAtMs: TIME };
    expect(decodeTrackedReply([hex(`01 ${TIME_HEX} 00 61`), stored])).toEqual(admits ? hit : null);
  });

  it("bar before an encoding is looked at", () => {
    const unknown = hex(`01 ${TIME_HEX} 07 61`);
    expect(decodeTrackedReply([unknown, Buffer.from(String(TIME))])).toBeNull();
    expect(decodeTrackedReply([unknown, null])).toBeNull();
    expect(() => decodeTrackedReply([unknown, Buffer.from("1")])).toThrow(DialCacheRedisPayloadEncodingError);
  });

  it("come in a reply of two", () => {
    for (const reply of [null, [], [null], [null, null, null], "ab", { 0: null, 1: null, length: 2 }]) {
      expect(() => decodeTrackedReply(reply)).toThrow(DialCacheRedisPayloadError);
    }
    expect(decodeTrackedReply([null, null])).toBeNull();
    expect(decodeTrackedReply([null, Buffer.from("1")])).toBeNull();
  });
});

describe("scripts", () => {
  const sha1 = (text: string) => createHash("sha1").update(text).digest("hex");

  it.each([
    ["stamp", protocol.STAMP_SCRIPT, protocol.STAMP_SCRIPT_SHA1],
    ["invalidate", protocol.INVALIDATE_SCRIPT, protocol.INVALIDATE_SCRIPT_SHA1],
  ])("%s is the text of its file, with its hash", (name, text, hash) => {
    const file = new URL(`../src/remote/scripts/${name}.lua`, import.meta.url);
    expect(text).toBe(readFileSync(file, "utf8"));
    expect(hash).toBe(sha1(text));
  });

  it("are called with their keys and arguments", () => {
    const nonce = hex("0102030405060708");
    const call = protocol.stampCall({ valueKey: "{a}v", watermarkKey: "{a}#watermark", nonce, cacheTtlMs: 60_000 });
    const rest = ["2", "{a}v", "{a}#watermark", nonce, "60000"];
    expect(protocol.scriptCommand(call, "EVALSHA")).toEqual(["EVALSHA", protocol.STAMP_SCRIPT_SHA1, ...rest]);
    expect(protocol.scriptCommand(call, "EVAL")).toEqual(["EVAL", protocol.STAMP_SCRIPT, ...rest]);
    const raise = protocol.invalidateCall({ watermarkKey: "{a}#watermark", futureBufferMs: 5_000 });
    expect(protocol.scriptCommand(raise, "EVAL")).toEqual([
      "EVAL",
      protocol.INVALIDATE_SCRIPT,
      "1",
      "{a}#watermark",
      "5000",
    ]);
  });

  it("answer in a few numbers, in any form", () => {
    for (const form of [(n: number) => n, String, BigInt, (n: number) => Buffer.from(String(n))]) {
      expect(protocol.stampReply(form(1))).toBe(true);
      expect(protocol.stampReply(form(0))).toBe(false);
      expect(() => protocol.stampReply(form(2))).toThrow(DialCacheRedisPlaceholderLostError);
      expect(() => protocol.stampReply(form(3))).toThrow(DialCacheRedisProtocolError);
      expect(protocol.invalidateReply(form(1))).toBeUndefined();
      expect(() => protocol.invalidateReply(form(0))).toThrow(DialCacheRedisProtocolError);
    }
    for (const reply of [null, undefined, true, "", "OK", [1], {}, Number.NaN]) {
      expect(() => protocol.stampReply(reply)).toThrow(DialCacheRedisProtocolError);
      expect(() => protocol.invalidateReply(reply)).toThrow(DialCacheRedisProtocolError);
    }
    expect(protocol.setReply("OK")).toBeUndefined();
    expect(protocol.setReply(Buffer.from("OK"))).toBeUndefined();
    for (const reply of [null, undefined, "", "QUEUED", 1]) {
      expect(() => protocol.setReply(reply)).toThrow(DialCacheRedisProtocolError);
    }
  });

  it("are asked for again only when the server says that it does not know them", () => {
    const answers = [
      "NOSCRIPT No matching script. Please use EVAL.",
      "An error was signalled by the server: - NoScriptError: No matching script.",
    ];
    for (const message of answers) expect(protocol.isNoScriptError(new Error(message))).toBe(true);
    for (const other of [new Error("ERR NOSCRIPTS"), new Error("timeout"), "NOSCRIPT", null]) {
      expect(protocol.isNoScriptError(other)).toBe(false);
    }
  });
});
