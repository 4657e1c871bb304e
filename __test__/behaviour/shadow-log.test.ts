import { DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it } from "vitest";
import type { LogLine } from "../support/recorders";
import { RAMPED_DOWN, type ShadowOptions, shadowWorld, stored } from "../support/shadow";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const LOGGED = new DialCacheKeyConfig({ ttlSec: { remote: 60 }, shadow: { ramp: 100, logMismatches: true } });
const MARK = "...[clipped]";
const KIB = 1_024;

interface Details {
  readonly cacheKey: string;
  readonly cached: string | null;
  readonly source: string | null;
}

/** The line of a mismatch between what Redis holds and what the source gives. */
async function logged(cached: unknown, source: unknown, id = "1", options: ShadowOptions = {}) {
  const reply = typeof cached === "function" ? "" : stored(cached);
  const serializer = { dump: JSON.stringify, load: () => (cached as () => unknown)() };
  const world = shadowWorld({
    config: LOGGED,
    replies: [reply, reply],
    ...(typeof cached === "function" ? { serializer } : {}),
    ...options,
  });
  world.source.mockResolvedValue(source);
  await world.load(id);
  await world.settle();
  expect(world.outcomes()).toEqual({ mismatch: 1 });
  expect(world.log.lines).toHaveLength(1);
  const [line] = world.log.lines as [LogLine];
  const [message, details] = line.args as [string, Details];
  return { message, details };
}

describe("The log of a mismatch", () => {
  it("is one warning with names, key and both values as JSON", async () => {
    const { message, details } = await logged({ v: 1 }, { v: 2 }, "a b");
    expect(message).toBe('DialCache: Redis holds another value than the source gives (use case "GetUser")');
    expect(details).toEqual({
      cacheNamespace: "urn",
      useCase: "GetUser",
      keyType: "user_id",
      cacheKey: "urn:user_id:a%20b#GetUser",
      cached: '{"v":1}',
      source: '{"v":2}',
    });
  });

  it("is not written without logMismatches, nor for any other outcome", async () => {
    for (const [config, cached, again] of [
      [undefined, stored(1), stored(1)],
      [LOGGED, stored(2), undefined],
      [LOGGED, stored(1), null],
      [LOGGED, stored(1), new Error("down")],
      [LOGGED, "not JSON", undefined],
      [RAMPED_DOWN, stored(1), stored(1)],
    ] as const) {
      const replies = again === undefined ? [cached] : [cached, again];
      const world = shadowWorld({ replies, ...(config === undefined ? {} : { config }) });
      world.client.autoWrite = () => true;
      world.source.mockResolvedValue(2);
      await world.load();
      await world.settle();
      expect(world.log.lines.filter(({ args }) => String(args[0]).includes("another value"))).toHaveLength(0);
    }
  });

  it.each<[string, number, string]>([
    ["ASCII", 1, "a"],
    ["two bytes", 2, "é"],
    ["three bytes", 3, "€"],
    ["four bytes, two UTF-16 units", 4, "😀"],
  ])("cuts values of %s to 8 KiB, at a character's border, mark included", async (_title, bytes, char) => {
    const text = char.repeat(9 * KIB);
    const { details } = await logged(text, `${text}!`);
    for (const value of [details.cached, details.source] as string[]) {
      expect(value.endsWith(MARK)).toBe(true);
      expect(Buffer.byteLength(value)).toBeLessThanOrEqual(8 * KIB);
      expect(Buffer.byteLength(value)).toBeGreaterThan(8 * KIB - bytes);
      const kept = value.slice(1, -MARK.length);
      expect(kept).toBe(char.repeat(kept.length / char.length));
    }
  });

  it("leaves a value of exactly 8 KiB whole, and cuts one of a byte more", async () => {
    const fits = "a".repeat(8 * KIB - 2);
    const { details } = await logged(fits, `${fits}b`);
    expect(details.cached).toBe(JSON.stringify(fits));
    expect(details.source).toBe(`"${"a".repeat(8 * KIB - 1 - MARK.length)}${MARK}`);
    const wide = "é".repeat(4 * KIB - 1);
    expect((await logged(wide, "")).details.cached).toBe(JSON.stringify(wide));
  });

  it("cuts the key to 2 KiB", async () => {
    const { details } = await logged(1, 2, "x".repeat(5_000));
    const key = details.cacheKey;
    expect(Buffer.byteLength(key)).toBe(2 * KIB);
    expect(key.startsWith("urn:user_id:xxx") && key.endsWith(MARK)).toBe(true);
  });

  it.each<[string, () => unknown]>([
    ["undefined", () => undefined],
    ["a function", () => () => 1],
    ["a bigint", () => 1n],
    [
      "a circle",
      () => {
        const circle: unknown[] = [];
        circle.push(circle);
        return circle;
      },
    ],
    [
      "a toJSON that throws",
      () => ({
        toJSON: () => {
          throw new Error("no");
        },
      }),
    ],
  ])("has null for a side that JSON cannot say: %s", async (_title, value) => {
    expect((await logged(value, "source")).details).toMatchObject({ cached: null, source: '"source"' });
    expect((await logged("cached", value())).details).toMatchObject({ cached: '"cached"', source: null });
  });

  it("tells a JSON null from a failure", async () => {
    expect((await logged(null, 1)).details).toMatchObject({ cached: "null", source: "1" });
  });

  it("shows the values as they were compared, whatever their owners change later", async () => {
    const source = { v: 2 };
    const world = shadowWorld({
      config: new DialCacheKeyConfig({
        ttlSec: { remote: 60 },
        ramp: { remote: 0 },
        shadow: { ramp: 100, logMismatches: true },
      }),
    });
    world.source.mockResolvedValue(source);
    let reads = 0;
    world.client.autoRead = () => {
      reads += 1;
      if (reads === 2) source.v = 3;
      return stored({ v: 1 });
    };
    await world.load();
    await world.settle();
    expect(world.outcomes()).toEqual({ mismatch: 1 });
    expect(world.log.lines[0]?.args[1]).toMatchObject({ cached: '{"v":1}', source: '{"v":2}' });
  });
});
