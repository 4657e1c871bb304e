// An ES module service that uses the installed package.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import * as esm from "dialcache-native";
import { DialCache, DialCacheKeyConfig, UseCaseIsAlreadyRegisteredError } from "dialcache-native";
import { manualClock } from "dialcache-native/testing";

const require = createRequire(import.meta.url);
const cjs = require("dialcache-native");

// Every export is there by name, and is the very same thing.
assert.deepEqual({ ...esm }, { ...cjs });
for (const [name, value] of Object.entries(esm)) assert.equal(value, cjs[name], name);
assert.equal(manualClock, require("dialcache-native/testing").manualClock);

const dialcache = new DialCache({ namespace: "package-test" });
let loads = 0;
const options = {
  keyType: "user_id",
  useCase: "GetUser",
  cacheKey: (id) => id,
  defaultConfig: DialCacheKeyConfig.enabled(60),
};
const getUser = dialcache.cached(async (id) => ({ id, load: ++loads }), options);
const [first, second] = await dialcache.enable(async () => [await getUser("1"), await getUser("1")]);
assert.deepEqual(first, { id: "1", load: 1 });
assert.deepEqual(second, first);
assert.equal(loads, 1, "the second call is a hit");

assert.throws(
  () => dialcache.cached(async (id) => id, options),
  (error) => error instanceof cjs.UseCaseIsAlreadyRegisteredError && error instanceof UseCaseIsAlreadyRegisteredError,
);

await dialcache.close();
console.log("used");
