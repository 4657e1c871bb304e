import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DialCacheKeyConfig } from "../lib/config";
import { DialCacheKeyError } from "../lib/errors";
import {
  DialCacheKey,
  invalidationPrefix,
  type KeyArgs,
  normalizeArgs,
  normalizeKeySpec,
  redisClusterHashTag,
} from "../lib/key";
import { StringSerializer } from "../lib/serializer";

/** Well-formed text, often of the characters keys are built with. */
const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom(..."ab:?&=#%{}/ é😀\0") }));
const illFormed = fc
  .tuple(text, fc.constantFrom("\ud800", "\udbff", "\udc00", "\udfff"), text)
  .map(([before, lone, after]) => `${before} ${lone} ${after}`);
const scalar = fc.oneof(text, fc.double(), fc.bigInt(), fc.boolean(), fc.constantFrom(null, undefined));
const record = fc.dictionary(
  fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty")),
  scalar,
  { noNullPrototype: false },
);

describe("normalizeKeySpec", () => {
  it.each([
    ["123", { id: "123", args: "" }],
    ["", { id: "", args: "" }],
    [1, { id: "1", args: "" }],
    [-0, { id: "0", args: "" }],
    [1.5, { id: "1.5", args: "" }],
    [9_007_199_254_740_993n, { id: "9007199254740993", args: "" }],
    [{ id: 1n }, { id: "1", args: "" }],
    [
      { id: "a", args: undefined },
      { id: "a", args: "" },
    ],
    [
      { id: "a", args: {} },
      { id: "a", args: "" },
    ],
    [
      { id: "a", args: { skipped: undefined } },
      { id: "a", args: "" },
    ],
    [
      { id: "a", args: { page: 2, filter: "x y" } },
      { id: "a", args: "?filter=x%20y&page=2" },
    ],
    [
      { id: "a", args: { b: null, a: false, c: -0, d: 10n } },
      { id: "a", args: "?a=false&b=null&c=0&d=10" },
    ],
    [
      { id: "a", args: { "n&=?#": "v&=?#:%" } },
      { id: "a", args: "?n%26%3D%3F%23=v%26%3D%3F%23%3A%25" },
    ],
  ])("of %o", (spec, expected) => {
    expect(normalizeKeySpec(spec)).toEqual(expected);
  });

  it("takes 1, '1' and 1n as one id", () => {
    expect(new Set([1, "1", 1n].map((id) => normalizeKeySpec(id).id)).size).toBe(1);
  });

  const noText = Object.create(null) as object;

  it.each([
    undefined,
    null,
    Symbol("s"),
    () => "1",
    {},
    [],
    ["1"],
    new Date(0),
    new String("1"),
    new Map([["id", 1]]),
    Object.create({ id: "inherited" }),
    { args: { a: 1 } },
    { id: undefined },
    { id: null },
    { id: {} },
    { id: ["1"] },
    { id: Symbol("s") },
    { id: () => "1" },
    { id: "1", arg: { page: 1 } },
    { id: "1", args: 5 },
    { id: "1", args: "page=1" },
    { id: "1", args: new Map([["page", 1]]) },
    { id: "1", args: new Date(0) },
    { id: "1", args: new URLSearchParams("page=1") },
    { id: "1", args: { a: Symbol("s") } },
    { id: "1", args: { a: () => 1 } },
    { id: "1", args: { a: {} } },
    { id: "1", args: { a: [{}] } },
    { id: "1", args: { a: new Map() } },
    { id: "1", args: { a: Promise.resolve(1) } },
    { id: "1", args: { a: noText } },
    "a\ud800",
    { id: "\udc00" },
    { id: "1", args: { a: "\ud800" } },
    { id: "1", args: { "\ud800": 1 } },
  ])("refuses %o", (spec) => {
    expect(() => normalizeKeySpec(spec)).toThrow(DialCacheKeyError);
  });

  it("takes what has a text of its own through it", () => {
    const args = { when: new URL("http://h/"), list: [1, 2] } as unknown as KeyArgs;
    expect(normalizeKeySpec({ id: "1", args }).args).toBe("?list=1%2C2&when=http%3A%2F%2Fh%2F");
  });

  it("takes names of Object's prototype as any other, when they are own", () => {
    const args = JSON.parse('{"__proto__":1,"constructor":2,"toString":3}') as KeyArgs;
    expect(normalizeKeySpec({ id: "a", args }).args).toBe("?__proto__=1&constructor=2&toString=3");
    expect(
      normalizeKeySpec({ id: "a", args: Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true } }) })
        .args,
    ).toBe("?own=1");
  });

  it("sorts by UTF-16 code units, not by code points or locale", () => {
    const args = { "\uffff": 1, "😀": 2, B: 3, a: 4, é: 5, ä: 6, 10: 7, 9: 8 };
    const names = normalizeArgs(args).map(([name]) => name);
    expect(names).toEqual(["10", "9", "B", "a", "ä", "é", "😀", "\uffff"]);
  });

  it("keeps hostile text apart: a key decodes to exactly what it was made of", () => {
    fc.assert(
      fc.property(text, record, (id, args) => {
        const normalized = normalizeKeySpec({ id, args });
        const pairs = normalized.args === "" ? [] : normalized.args.slice(1).split("&");
        const decoded = pairs.map((pair) => pair.split("=").map(decodeURIComponent));
        const expected = Object.entries(args)
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => [name, String(value)])
          .sort(([a], [b]) => (a! < b! ? -1 : 1));
        expect(normalized.id).toBe(id);
        expect(decoded).toEqual(expected);
        expect(normalizeArgs(args)).toEqual(expected);
      }),
    );
  });

  it("does not depend on the order of names", () => {
    fc.assert(
      fc.property(record, (args) => {
        const reversed = Object.fromEntries(Object.entries(args).reverse());
        expect(normalizeKeySpec({ id: "a", args: reversed })).toEqual(normalizeKeySpec({ id: "a", args }));
      }),
    );
  });

  it("refuses ill-formed text wherever it stands, without naming it", () => {
    fc.assert(
      fc.property(illFormed, fc.constantFrom("plain", "id", "name", "value"), (bad, where) => {
        const specs = {
          plain: bad,
          id: { id: bad },
          name: { id: "a", args: { [bad]: 1 } },
          value: { id: "a", args: { n: bad } },
        };
        const run = () => normalizeKeySpec(specs[where as keyof typeof specs]);
        expect(run).toThrow(DialCacheKeyError);
        expect(run).toThrow(/unpaired surrogate$/);
      }),
    );
  });

  it("names neither id nor arguments in its errors", () => {
    const specs: unknown[] = [
      { id: "hunter2", args: { a: { toString: () => "[object hunter2]" } } },
      { id: "hunter2\ud800" },
      { id: "1", args: { "hunter2\ud800": 1 } },
      { id: "1", hunter2: 1 },
    ];
    for (const spec of specs) {
      const messages: string[] = [];
      try {
        normalizeKeySpec(spec);
      } catch (error) {
        messages.push((error as Error).message);
      }
      expect(messages).toHaveLength(1);
      expect(messages[0]).not.toContain("hunter2");
    }
  });

  it("reads every member of a record once", () => {
    let reads = 0;
    const args = {
      get page() {
        return ++reads;
      },
    };
    expect(normalizeKeySpec({ id: "a", args }).args).toBe("?page=1");
  });
});

describe("normalizeArgs", () => {
  it.each([null, undefined, 5, "a"])("refuses %s", (args) => {
    expect(() => normalizeArgs(args as unknown as KeyArgs)).toThrow(DialCacheKeyError);
  });
});

describe("DialCacheKey", () => {
  it("has the parts, the entity's prefix and the whole key", () => {
    const serializer = new StringSerializer();
    const defaultConfig = DialCacheKeyConfig.enabled(60);
    const key = new DialCacheKey({
      namespace: "users-api",
      keyType: "user_id",
      id: "12 3",
      useCase: "GetUser",
      args: [["locale", "en"]],
      defaultConfig,
      serializer,
    });
    expect({ ...key }).toEqual({
      namespace: "users-api",
      keyType: "user_id",
      id: "12 3",
      useCase: "GetUser",
      args: [["locale", "en"]],
      trackForInvalidation: false,
      prefix: "users-api:user_id:12%203",
      urn: "users-api:user_id:12%203?locale=en#GetUser",
      defaultConfig,
      serializer,
    });
    expect(String(key)).toBe(key.urn);
  });

  it("wraps the entity in a hash tag when it is tracked", () => {
    const key = new DialCacheKey({ keyType: "user_id", id: "123", useCase: "GetUser", trackForInvalidation: true });
    expect(key.prefix).toBe("{urn:user_id:123}");
    expect(key.urn).toBe("{urn:user_id:123}#GetUser");
  });

  it("is frozen, to its arguments, and independent of the pairs it was given", () => {
    const args: [string, string][] = [["a", "1"]];
    const key = new DialCacheKey({ keyType: "t", id: "i", useCase: "u", args });
    args[0]![1] = "2";
    expect(key.args).toEqual([["a", "1"]]);
    expect([key, key.args, key.args[0]].map(Object.isFrozen)).toEqual([true, true, true]);
    expect(Object.isFrozen(new DialCacheKey({ keyType: "t", id: "i", useCase: "u" }).args)).toBe(true);
  });

  it("keeps the order of the pairs it is given", () => {
    const args = [
      ["b", "1"],
      ["a", "2"],
    ] as const;
    expect(new DialCacheKey({ keyType: "t", id: "i", useCase: "u", args }).urn).toBe("urn:t:i?b=1&a=2#u");
  });

  it("agrees with normalizeKeySpec", () => {
    fc.assert(
      fc.property(text, record, (id, args) => {
        const key = new DialCacheKey({ keyType: "t", id, useCase: "u", args: normalizeArgs(args) });
        expect(key.urn).toBe(`urn:t:${encodeURIComponent(id)}${normalizeKeySpec({ id, args }).args}#u`);
      }),
    );
  });

  it("never gives two identities one key", () => {
    const part = fc.string({ unit: fc.constantFrom(..."ab:?&=#%"), maxLength: 3 });
    const identity = fc.record({
      namespace: part,
      keyType: part,
      id: part,
      useCase: part,
      args: fc.array(fc.tuple(part, part), { maxLength: 2 }),
    });
    fc.assert(
      fc.property(identity, identity, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(new DialCacheKey(one).urn === new DialCacheKey(other).urn).toBe(same);
      }),
      { numRuns: 1000 },
    );
  });

  it.each(["namespace", "keyType", "id", "useCase"])("refuses ill-formed text in %s", (part) => {
    const init = { namespace: "n", keyType: "t", id: "i", useCase: "u", [part]: "\ud800" };
    expect(() => new DialCacheKey(init)).toThrow(DialCacheKeyError);
  });

  it.each(["keyType", "id"])("refuses braces in %s when tracked, and encodes them when not", (part) => {
    for (const brace of ["{", "}"]) {
      const init = { keyType: "t", id: "i", useCase: "u", [part]: brace };
      expect(() => new DialCacheKey({ ...init, trackForInvalidation: true })).toThrow(DialCacheKeyError);
      expect(new DialCacheKey(init).urn).toContain(encodeURIComponent(brace));
    }
  });
});

describe("invalidationPrefix and redisClusterHashTag", () => {
  it("build the watermark's entity", () => {
    expect(invalidationPrefix("users api", "user_id", "1:2")).toBe("users%20api:user_id:1%3A2");
    expect(redisClusterHashTag("urn:user_id:1")).toBe("{urn:user_id:1}");
  });

  it.each(["{", "}", "a{b}"])("refuse the braces of %s", (text) => {
    expect(() => invalidationPrefix(text, "t", "i")).toThrow(DialCacheKeyError);
    expect(() => invalidationPrefix("n", text, "i")).toThrow(DialCacheKeyError);
    expect(() => invalidationPrefix("n", "t", text)).toThrow(DialCacheKeyError);
    expect(() => redisClusterHashTag(text)).toThrow(DialCacheKeyError);
  });
});
