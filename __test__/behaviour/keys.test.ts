import { type CacheKeySpec, DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it } from "vitest";
import { CLIENT_RIGS, LOCAL_ONLY, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

type Key = CacheKeySpec;

const key = (id: string | number | bigint, args?: Record<string, unknown>): Key =>
  (args === undefined ? id : { id, args }) as Key;

/** Equal only where the contract says so. */
const SAME: readonly [name: string, first: Key, second: Key][] = [
  ["1 and '1'", key(1), key("1")],
  ["1n and 1", key(1n), key(1)],
  ["-0 and 0", key(-0), key(0)],
  ["a bare id and one without arguments", key("a"), key("a", {})],
  ["arguments in another order", key("a", { x: 1, y: 2 }), key("a", { y: 2, x: 1 })],
  ["an argument left out and one undefined", key("a", { x: 1 }), key("a", { x: 1, y: undefined })],
  ["an argument 1 and '1'", key("a", { x: 1 }), key("a", { x: "1" })],
  ["an argument -0 and 0", key("a", { x: -0 }), key("a", { x: 0 })],
  ["an argument true and 'true'", key("a", { x: true }), key("a", { x: "true" })],
  ["an argument null and 'null'", key("a", { x: null }), key("a", { x: "null" })],
];

const DIFFERENT: readonly [name: string, first: Key, second: Key][] = [
  ["a colon in the id and its encoding", key("a:b"), key("a%3Ab")],
  ["an id and the same with an argument in it", key("a?x=1"), key("a", { x: 1 })],
  ["an id with a hash and one without", key("a#GetUser"), key("a")],
  ["the empty id and a blank", key(""), key(" ")],
  ["the empty id and '0'", key(""), key("0")],
  ["letters that differ in case", key("A"), key("a")],
  ["composed and decomposed", key("\u00e9"), key("e\u0301")],
  ["an ampersand in a value and two arguments", key("a", { x: "1&y=2" }), key("a", { x: 1, y: 2 })],
  ["an equals sign in a name", key("a", { "x=1": "" }), key("a", { x: "1=" })],
  ["an empty argument and none", key("a", { x: "" }), key("a")],
  ["a slash and its encoding", key("a/b"), key("a%2Fb")],
  ["a replacement character and a question mark", key("\ufffd"), key("?")],
  ["long ids that differ at the end", key(`${"é".repeat(200)}1`), key(`${"é".repeat(200)}2`)],
];

const ENCODED: readonly [name: string, id: Key, logical: string][] = [
  ["a plain id", key("123"), "user_id:123"],
  ["reserved characters", key("a:b/c?d#e&f=g h%"), "user_id:a%3Ab%2Fc%3Fd%23e%26f%3Dg%20h%25"],
  ["what encodeURIComponent leaves", key("-_.!~*'()"), "user_id:-_.!~*'()"],
  ["multibyte characters", key("é漢🙂"), `user_id:${encodeURIComponent("é漢🙂")}`],
  ["a replacement character of the id's own", key("\ufffd"), "user_id:%EF%BF%BD"],
  ["the empty id", key(""), "user_id:"],
  ["a bigint", key(12345678901234567890n), "user_id:12345678901234567890"],
  [
    "arguments, sorted by UTF-16 code units",
    key("a", { b: 1, "🙂": 2, "\uff5e": 3, B: 4 }),
    `user_id:a?B=4&b=1&${encodeURIComponent("🙂")}=2&${encodeURIComponent("\uff5e")}=3`,
  ],
  ["arguments that need encoding", key("a", { "n&m": "v=w x" }), "user_id:a?n%26m=v%3Dw%20x"],
];

describe.each(
  CLIENT_RIGS.flatMap((kind) => [
    { ...kind, observed: true, metrics: "with metrics" },
    { ...kind, observed: false, metrics: "without metrics" },
  ]),
)("$client, $metrics", ({ observed, ...kind }) => {
  const rig = useRig(kind);
  const healthy = { readTimeoutMs: 10_000, observed };

  async function world(defaultConfig: DialCacheKeyConfig) {
    const made = await rig.world(healthy);
    const calls: Key[] = [];
    const load = made.cache.cached(
      async (id: Key) => {
        calls.push(id);
        return calls.length;
      },
      { keyType: "user_id", useCase: "GetUser", cacheKey: (id) => id, defaultConfig },
    );
    return { calls, load: (id: Key) => made.cache.enable(() => load(id)), made };
  }

  it.each(SAME)("are one key: %s", async (_name, first, second) => {
    const { load, calls } = await world(LOCAL_ONLY);
    await load(first);
    await load(second);
    expect(calls).toHaveLength(1);
  });

  it.each(DIFFERENT)("are two keys, locally: %s", async (_name, first, second) => {
    const { load, calls } = await world(LOCAL_ONLY);
    expect(await load(first)).not.toBe(await load(second));
    expect(calls).toHaveLength(2);
    expect(await load(first)).toBe(1);
    expect(await load(second)).toBe(2);
  });

  it.each(DIFFERENT)("are two keys, in Redis: %s", async (_name, first, second) => {
    const { load, made } = await world(new DialCacheKeyConfig({ ttlSec: { remote: 60 } }));
    await load(first);
    await made.written();
    await load(second);
    await made.written();
    expect(await load(first)).toBe(1);
    expect(await load(second)).toBe(2);
  });

  it.each(DIFFERENT)("are two keys, in flight and in one request: %s", async (_name, first, second) => {
    const { made } = await world(new DialCacheKeyConfig({}));
    let calls = 0;
    const load = made.cache.cached(async (_id: Key) => ++calls, {
      keyType: "user_id",
      useCase: "InFlight",
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60 }, requestLocal: true }),
    });
    const results = await made.cache.enable(() => Promise.all([load(first), load(second)]));
    expect(results).toEqual([1, 2]);
  });

  it("parts of different keys do not run together", async () => {
    const made = await rig.world(healthy);
    const values = await Promise.all(
      [
        ["a", "b:c"],
        ["a:b", "c"],
        ["a:b:c", ""],
      ].map(([keyType = "", id = ""]) => {
        const load = made.cache.cached(async () => `${keyType} ${id}`, {
          keyType,
          useCase: `Use ${keyType}`,
          cacheKey: () => id,
          defaultConfig: DialCacheKeyConfig.enabled(60),
        });
        return made.cache.enable(() => load());
      }),
    );
    expect(new Set(values).size).toBe(3);
    await made.written();
    expect(await made.server.command("EXISTS", made.key("Use a", "b:c", "a"))).toBe(1);
    expect(await made.server.command("EXISTS", `${made.namespace}:a%3Ab:c#Use%20a%3Ab:dialcache-frame-v1`)).toBe(1);
  });

  it.each(ENCODED)("the Redis key of %s", async (_name, id, logical) => {
    const { load, made } = await world(new DialCacheKeyConfig({ ttlSec: { remote: 60 } }));
    await load(id);
    await made.written();
    expect(await made.server.command("EXISTS", `${made.namespace}:${logical}#GetUser:dialcache-frame-v1`)).toBe(1);
  });

  it.each([240, 250, 255, 256, 257, 260, 300, 1_000, 70_000])(
    "ids of %d characters, multibyte at every offset of the end, stay apart",
    async (length) => {
      const { load } = await world(LOCAL_ONLY);
      const ids: string[] = [];
      for (const end of ["a", "b", "é", "è", "漢", "字", "🙂", "🙃"]) {
        for (let back = 0; back < 4; back += 1) {
          ids.push("x".repeat(length - back) + end);
        }
      }
      const values = [];
      for (const id of ids) {
        values.push(await load(id));
      }
      expect(new Set(values).size).toBe(ids.length);
      for (const [index, id] of ids.entries()) {
        expect(await load(id)).toBe(values[index]);
      }
    },
  );

  it("ids that are not well-formed are never merged", async () => {
    const { load, calls } = await world(LOCAL_ONLY);
    const ids = ["\ud800", "\ud801", "\udc00", `${"x".repeat(255)}\ud800`, `${"x".repeat(255)}\ud801`, "\ufffd"];
    for (const id of ids) {
      await load(id);
      await load(id);
    }
    // Two calls for each broken id, one for the well-formed replacement character.
    expect(calls).toHaveLength((ids.length - 1) * 2 + 1);
  });
});
