// A CommonJS service that uses the installed package.
const assert = require("node:assert/strict");
const { DialCache, DialCacheKeyConfig, UseCaseIsAlreadyRegisteredError, DialCacheError } = require("dialcache-native");
const testing = require("dialcache-native/testing");

async function main() {
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

  // The package that `import` gives is the one that `require` gave.
  const esm = await import("dialcache-native");
  const esmTesting = await import("dialcache-native/testing");
  assert.equal(esm.DialCache, DialCache);
  for (const [name, value] of Object.entries(testing)) assert.equal(esmTesting[name], value, name);
  assert.throws(
    () => dialcache.cached(async (id) => id, options),
    (error) => error instanceof esm.UseCaseIsAlreadyRegisteredError && error instanceof UseCaseIsAlreadyRegisteredError,
  );
  assert.equal(Object.getPrototypeOf(UseCaseIsAlreadyRegisteredError), esm.DialCacheError);
  assert.equal(esm.DialCacheError, DialCacheError);

  // Without any of the clients they are for.
  for (const entry of ["ioredis", "node-redis", "redis-protocol", "valkey-glide"]) {
    const required = require(`dialcache-native/${entry}`);
    const imported = await import(`dialcache-native/${entry}`);
    for (const [name, value] of Object.entries(required)) assert.equal(imported[name], value, name);
  }

  await dialcache.close();
  console.log("used");
}

main();
