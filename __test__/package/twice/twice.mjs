// Two copies of the package, each by import and by require, in the main thread and in a worker.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import * as first from "dialcache-native";
import * as second from "other/index.mjs";
import working from "./work.cjs";

const require = createRequire(import.meta.url);
assert.equal(require("dialcache-native").DialCache, first.DialCache);
assert.equal(require("other/index.cjs").DialCache, second.DialCache);
assert.notEqual(first.DialCache, second.DialCache);
assert.notEqual(
  require.resolve("dialcache-native"),
  createRequire(require.resolve("other/index.cjs")).resolve("dialcache-native"),
);

const thread = isMainThread ? "main" : "worker";

// An instance and a client of each copy are alive at once, and neither knows the other's.
const clients = [first, second].map(({ RedisClient }) => new RedisClient({ url: process.env.CONSUMER_REDIS_URL }));
const instances = [first, second].map(
  ({ DialCache }, n) =>
    new DialCache({ namespace: `${thread}-alive`, redis: { client: clients[n], readTimeoutMs: 10_000 } }),
);
const runs = [0, 0];
const [getFirst, getSecond] = [first, second].map(({ DialCacheKeyConfig }, n) =>
  instances[n].cached(async (id) => ({ id, copy: n, run: ++runs[n] }), {
    keyType: "user_id",
    useCase: "GetUser",
    cacheKey: (id) => id,
    defaultConfig: DialCacheKeyConfig.enabled(60),
  }),
);
const loaded = await instances[0].enable(() => getFirst("1"));
assert.deepEqual(loaded, { id: "1", copy: 0, run: 1 });
await instances[0].drain();
// The second copy's local layer is its own; Redis is shared.
assert.deepEqual(await instances[1].enable(() => getSecond("1")), loaded);
assert.deepEqual(runs, [1, 0]);
assert.equal(instances[1].stats().useCases.GetUser.hits.remote, 1);
// One copy's end leaves the other as it was.
await instances[0].close();
await clients[0].close();
assert.deepEqual(await instances[1].enable(() => getSecond("1")), loaded);
assert.equal(instances[1].stats().useCases.GetUser.hits.local, 1);

await Promise.all([working.localHit(first), working.localHit(second)]);
await Promise.all([working.redisHit(first, `${thread}-first`), working.redisHit(second, `${thread}-second`)]);
await instances[1].close();
await clients[1].close();

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url));
  const code = await new Promise((resolve, reject) => worker.once("error", reject).once("exit", resolve));
  assert.equal(code, 0);
  console.log("used");
} else {
  parentPort.postMessage("done");
}
