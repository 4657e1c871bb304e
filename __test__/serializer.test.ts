import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BufferSerializer, JsonSerializer, StringSerializer } from "../lib/serializer";

const SENTINEL = "__dialcache_json_undefined_v1__";

describe("JsonSerializer", () => {
  const json = new JsonSerializer<unknown>();

  it.each([null, 0, "", false, true, -1.5, "text", [], {}, [null], { a: { b: [1] } }])("carries %j", (value) => {
    expect(json.load(json.dump(value))).toEqual(value);
    expect(json.load(Buffer.from(json.dump(value)))).toEqual(value);
  });

  it("carries undefined as a text that is not JSON", () => {
    expect(json.dump(undefined)).toBe(SENTINEL);
    expect(json.load(SENTINEL)).toBeUndefined();
    expect(json.load(Buffer.from(SENTINEL))).toBeUndefined();
  });

  it("tells the string of that text from undefined", () => {
    expect(json.dump(SENTINEL)).toBe(JSON.stringify(SENTINEL));
    expect(json.load(json.dump(SENTINEL))).toBe(SENTINEL);
    expect(json.load(json.dump([SENTINEL]))).toEqual([SENTINEL]);
  });

  it("follows JSON where it loses something", () => {
    expect(json.load(json.dump(Number.NaN))).toBeNull();
    expect(json.load(json.dump([undefined]))).toEqual([null]);
    expect(json.load(json.dump({ a: undefined }))).toEqual({});
  });

  it("keeps unpaired surrogates, which JSON escapes", () => {
    expect(json.load(Buffer.from(json.dump("a\ud800")))).toBe("a\ud800");
  });

  it.each([() => {}, Symbol("s"), { toJSON: () => undefined }])("refuses %s, which JSON has no text for", (value) => {
    expect(() => json.dump(value)).toThrow(TypeError);
  });

  it("refuses bigints and circular structures", () => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    expect(() => json.dump(1n)).toThrow(TypeError);
    expect(() => json.dump(circular)).toThrow(TypeError);
  });

  it.each(["", "{", "undefined", `${SENTINEL} `, "'a'"])("rejects the payload %j", (payload) => {
    expect(() => json.load(payload)).toThrow(SyntaxError);
  });

  it("is what JSON is for every JSON value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(json.load(json.dump(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe("StringSerializer", () => {
  const text = new StringSerializer();

  it("hands well-formed text through untouched", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        expect(text.load(text.dump(value))).toBe(value);
      }),
    );
  });

  it.each(["\ud800", "a\udc00b", "\udc00\ud800"])("refuses the ill-formed %j", (value) => {
    expect(() => text.dump(value)).toThrow(TypeError);
  });

  it.each([null, undefined, 1, {}, Buffer.from("a"), new String("a")])("refuses %s", (value) => {
    expect(() => text.dump(value as string)).toThrow(TypeError);
  });

  it("rejects bytes", () => {
    expect(() => text.load(Buffer.from("a"))).toThrow(TypeError);
  });
});

describe("BufferSerializer", () => {
  const bytes = new BufferSerializer();

  it("hands bytes through untouched, without a copy", () => {
    const value = Buffer.from([0, 1, 2, 255]);
    expect(bytes.dump(value)).toBe(value);
    expect(bytes.load(value)).toBe(value);
  });

  it("takes any Uint8Array, of exactly its own bytes", () => {
    const view = new Uint8Array([9, 1, 2, 9]).subarray(1, 3);
    for (const buffer of [bytes.dump(view), bytes.load(view as Buffer)]) {
      expect(Buffer.isBuffer(buffer)).toBe(true);
      expect([...buffer]).toEqual([1, 2]);
    }
  });

  it.each([null, undefined, "text", 1, {}, [1], new Uint16Array(1), new ArrayBuffer(1)])("refuses %s", (value) => {
    expect(() => bytes.dump(value as Buffer)).toThrow(TypeError);
  });

  it("rejects text", () => {
    expect(() => bytes.load("text")).toThrow(TypeError);
  });
});
