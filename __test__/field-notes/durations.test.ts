import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it } from "vitest";
import { ScriptedClient } from "../support/clients";
import { CLIENT_RIGS, loader, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const WRONG_TTLS: readonly [name: string, ttl: unknown][] = [
  ["0", 0],
  ["negative", -1],
  ["fractional", 1.5],
  ["infinite", Number.POSITIVE_INFINITY],
  ["NaN", Number.NaN],
  ["a string", "60"],
  ["over 365 days", 31_536_001],
  ["milliseconds taken for seconds", 24 * 3_600 * 1_000],
  ["null", null],
];

describe("A TTL is validated, and its unit stands in its name", () => {
  const layers = ["local", "remote"] as const;

  it.each(layers.flatMap((layer) => WRONG_TTLS.map(([name, ttl]) => [layer, name, ttl] as const)))(
    "%s TTL %s throws at registration, before the name is taken",
    (layer, _name, ttl) => {
      const cache = new DialCache({ logger: null });
      const register = (value: unknown) =>
        loader(cache, "GetUser", async () => "source", {
          defaultConfig: new DialCacheKeyConfig({ ttlSec: { [layer]: value as number } }),
        });
      expect(() => register(ttl)).toThrow(/ttl/i);
      expect(() => register(60)).not.toThrow();
    },
  );

  it.each(WRONG_TTLS)("TTL %s from the provider turns that layer off, and it alone", async (_name, ttl) => {
    const client = new ScriptedClient();
    client.autoRead = () => null;
    client.autoWrite = () => true;
    const cache = new DialCache({
      redis: { client, readTimeoutMs: 1_000 },
      logger: null,
      cacheConfigProvider: () => ({ ttlSec: { local: ttl } }) as never,
    });
    let calls = 0;
    const load = loader(cache, "GetUser", async () => ++calls, { defaultConfig: DialCacheKeyConfig.enabled(60) });
    await load("1");
    expect(cache.stats().local.entries).toBe(0);
    expect(client.reads).toHaveLength(1);
    expect(client.writes).toHaveLength(1);
  });
});

describe.each(CLIENT_RIGS)("$client", (kind) => {
  const rig = useRig(kind);

  it.each([1, 60, 2_147_483, 2_147_484, 31_536_000])("Redis keeps a value for %d seconds", async (ttlSec) => {
    const world = await rig.world({ readTimeoutMs: 10_000 });
    const load = world.load("GetUser", async () => "source", {
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: ttlSec } }),
    });
    await load("1");
    await world.written();
    const ttlMs = Number(await world.server.command("PTTL", world.key("GetUser", "1")));
    expect(ttlMs).toBeLessThanOrEqual(ttlSec * 1_000);
    expect(ttlMs).toBeGreaterThan(ttlSec * 1_000 - 60_000);
  });
});
