// Time in tests: nothing here waits, and the deadlines and TTLs are exact to the millisecond. Needs no Redis server.
//
//   node examples/testing.mjs
import assert from "node:assert/strict";
import { DialCache, DialCacheKeyConfig, FallbackTimeoutError } from "dialcache-native";
import { installClock, manualClock } from "dialcache-native/testing";

/** A Redis that never answers. */
const frozen = { read: () => new Promise(() => {}), write: async () => true, invalidate: async () => {} };

// Instances made from here on live by this clock, until `uninstall()`.
const clock = manualClock();
const uninstall = installClock(clock);

const warnings = [];
const logger = { debug() {}, error() {}, warn: (message, error) => warnings.push(error.code ?? message) };
const dialcache = new DialCache({ redis: { client: frozen, readTimeoutMs: 50 }, logger });

let loads = 0;
const getUser = dialcache.cached(async (id) => ({ id, load: ++loads }), {
  keyType: "user_id",
  useCase: "GetUser",
  cacheKey: (id) => id,
  defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 } }),
});

// The source starts when the read deadline has passed, not a millisecond earlier, and the caller sees no error.
const call = dialcache.enable(() => getUser("1"));
await clock.advance(49);
assert.equal(loads, 0);
await clock.advance(1);
assert.deepEqual(await call, { id: "1", load: 1 });
assert.deepEqual(warnings, ["DIALCACHE_REDIS_READ_TIMEOUT"]);

// The value was kept in this process. It is over at the age of its TTL.
await clock.advance(59_999);
assert.equal((await dialcache.enable(() => getUser("1"))).load, 1);
await clock.advance(1);
const refreshed = dialcache.enable(() => getUser("1"));
await clock.advance(50);
assert.equal((await refreshed).load, 2);

// A source has a deadline of its own; that one the caller does see.
const slow = dialcache.cached(() => new Promise(() => {}), {
  keyType: "user_id",
  useCase: "GetSlowly",
  cacheKey: () => "1",
  fallbackTimeoutMs: 2_000,
});
const rejected = assert.rejects(
  dialcache.enable(() => slow()),
  FallbackTimeoutError,
);
await clock.advance(2_000);
await rejected;

await dialcache.close();
uninstall();
console.log(`${loads} loads, ${warnings.length} warnings, all on time`);
