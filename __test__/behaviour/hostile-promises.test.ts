import { DialCache, DialCacheKeyConfig, type DialCacheRedisClient } from "dialcache-native";
import { describe, expect, it } from "vitest";
import { turns } from "../support/real-time";
import { recordLogger } from "../support/recorders";
import { JSON_SERIALIZER } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const trap = () => {
  throw new Error("trap");
};

function withOwn(name: "then" | "constructor", descriptor: PropertyDescriptor): Promise<string> {
  return Object.defineProperty(Promise.resolve("value"), name, { configurable: true, ...descriptor });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** What `await` takes, and what `Promise.resolve()`, `.then()` or a second look at `then` do not. */
const HOSTILE: Readonly<Record<string, () => unknown>> = {
  // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
  "an object whose then throws when it is read": () => Object.defineProperty({}, "then", { get: trap }),
  "a revoked proxy": revoked,
  "a promise whose constructor throws": () => withOwn("constructor", { get: trap }),
  "a promise with a then of its own that throws": () => withOwn("then", { value: trap }),
  "a promise with a then of its own that returns nothing": () => withOwn("then", { value: () => undefined }),
  "a thenable whose then returns nothing": () => ({
    // biome-ignore lint/suspicious/noThenProperty: as above
    then: (resolve: (value: string) => void) => void resolve("value"),
  }),
  // biome-ignore lint/suspicious/noThenProperty: as above
  "a thenable whose then throws": () => ({ then: trap }),
  "a function": () => () => "value",
  "a rejected promise": () => Promise.reject(new Error("rejected")),
  "an object that only looks like a Buffer": () => Object.create(Buffer.prototype),
  "a proxy of a Buffer": () => new Proxy(Buffer.from("value"), {}),
};

const PLACES = ["read", "load", "dump", "write", "cacheConfigProvider", "cacheKey", "metrics", "logger"] as const;
type Place = (typeof PLACES)[number];

/** A cache in which `place` answers with what `make` makes, and whose source says "source". */
function hostileCache(place: Place | undefined, make: () => unknown, config: DialCacheKeyConfig) {
  const at = (here: Place, otherwise: unknown) => (place === here ? make() : otherwise) as never;
  const client: DialCacheRedisClient = {
    read: () => at("read", place === "load" ? "payload" : null),
    write: () => at("write", true),
    invalidate: async () => {},
  };
  const log = recordLogger();
  const hook = () => at("metrics", undefined);
  const cache = new DialCache({
    redis: {
      client,
      // Long: whoever waits for it has lost.
      readTimeoutMs: 20_000,
      serializer: { dump: (value) => at("dump", JSON.stringify(value)), load: () => at("load", "source") },
    },
    metrics: { request: hook, miss: hook, error: hook, disabled: hook, observeGet: hook } as never,
    logger: place === "logger" ? { debug: make, warn: make, error: make } : log.logger,
    ...(place === "cacheConfigProvider" ? { cacheConfigProvider: make as never } : {}),
  });
  let loads = 0;
  const load = cache.cached(
    () => {
      loads += 1;
      return "source";
    },
    { keyType: "user_id", useCase: "GetUser", cacheKey: () => at("cacheKey", "1"), defaultConfig: config },
  );
  return { cache, load: () => cache.enable(() => load()), log, loads: () => loads };
}

async function expectNothingLeft(cache: DialCache) {
  expect(await cache.drain({ timeoutMs: 5_000 })).toBe(true);
  await turns(2);
  expect(cache.stats()).toMatchObject({
    flights: { active: 0, followers: 0, lingering: 0 },
    timers: { armed: 0 },
    pendingWrites: 0,
  });
}

const CONFIGS = {
  "both layers": DialCacheKeyConfig.enabled(60),
  "Redis alone": new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
};

describe.each(Object.entries(CONFIGS))("A cache part never costs a call, with %s", (_layers, config) => {
  describe.each(PLACES)("%s gives", (place) => {
    it.each(Object.entries(HOSTILE))("%s", async (_what, make) => {
      const { cache, load, loads } = hostileCache(place, make, config);
      const values = await Promise.all([load(), load()]);
      // A loaded value may be anything at all; otherwise only the source can have answered.
      if (place !== "load") {
        expect(values).toEqual(["source", "source"]);
        // Once for both; without a key or a policy they cannot know of each other.
        if (place !== "cacheKey" && place !== "cacheConfigProvider") expect(loads()).toBeLessThanOrEqual(1);
      }
      await expectNothingLeft(cache);
    });
  });
});

describe("A source's result is what await makes of it, for leader and follower", () => {
  it.each(Object.entries(HOSTILE))("%s", async (_what, make) => {
    const expected = await settle(make);
    const cache = new DialCache({ logger: null });
    const load = cache.cached(() => make() as Promise<string>, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: () => "1",
      defaultConfig: DialCacheKeyConfig.enabled(60),
      fallbackTimeoutMs: null,
    });
    const answers = await cache.enable(() => Promise.all([settle(load), settle(load)]));
    for (const answer of answers) {
      expect(answer.status).toBe(expected.status);
      expect(describeAnswer(answer)).toBe(describeAnswer(expected));
    }
    await expectNothingLeft(cache);
  });

  it("a value that is revoked as soon as it was given", async () => {
    const cache = new DialCache({ logger: null });
    const load = cache.cached(
      () =>
        new Promise<unknown>((resolve) => {
          const { proxy, revoke } = Proxy.revocable({}, {});
          resolve(proxy);
          revoke();
        }),
      {
        keyType: "user_id",
        useCase: "GetUser",
        cacheKey: () => "1",
        defaultConfig: DialCacheKeyConfig.enabled(60),
        serializer: JSON_SERIALIZER,
      },
    );
    expect(await cache.enable(() => settle(load))).toMatchObject({ status: "rejected" });
    await expectNothingLeft(cache);
  });
});

describe("A config provider's answer holds however it is brought", () => {
  it.each([
    ["at once", (answer: DialCacheKeyConfig) => answer],
    ["by a promise", (answer: DialCacheKeyConfig) => Promise.resolve(answer)],
    [
      "by a thenable whose then returns nothing",
      // biome-ignore lint/suspicious/noThenProperty: as above
      (answer: DialCacheKeyConfig) => ({ then: (give: (value: unknown) => void) => void give(answer) }),
    ],
  ])("%s", async (_how, bring) => {
    const cache = new DialCache({
      logger: null,
      cacheConfigProvider: () => bring(DialCacheKeyConfig.disabled()) as DialCacheKeyConfig,
    });
    let loads = 0;
    const load = cache.cached(
      async () => {
        loads += 1;
      },
      { keyType: "user_id", useCase: "GetUser", cacheKey: () => "1", defaultConfig: DialCacheKeyConfig.enabled(60) },
    );
    await cache.enable(() => load());
    await cache.enable(() => load());
    expect(loads).toBe(2);
  });
});

async function settle(run: () => unknown): Promise<PromiseSettledResult<unknown>> {
  try {
    return { status: "fulfilled", value: await run() };
  } catch (reason) {
    return { status: "rejected", reason };
  }
}

function describeAnswer(answer: PromiseSettledResult<unknown>): string {
  if (answer.status === "rejected") return String((answer.reason as Error).message);
  return typeof answer.value;
}
