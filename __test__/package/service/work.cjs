// What a service does with the package, whichever way it got it: hits of every layer, a frozen Redis, and the end.
const assert = require("node:assert/strict");

const redisUrl = process.env.CONSUMER_REDIS_URL;
const redisPid = Number(process.env.CONSUMER_REDIS_PID);

/** A function that counts its runs, cached by `dialcache`. */
function counted(dialcache, defaultConfig) {
  const source = { runs: 0 };
  const options = { keyType: "user_id", useCase: "GetUser", cacheKey: (id) => id, defaultConfig };
  const get = dialcache.cached(async (id) => ({ id, run: ++source.runs }), options);
  return { source, get };
}

async function localHit({ DialCache, DialCacheKeyConfig }) {
  const dialcache = new DialCache({ namespace: "consumer" });
  const { source, get } = counted(dialcache, DialCacheKeyConfig.enabled(60));
  const [first, second] = await dialcache.enable(async () => [await get("1"), await get("1")]);
  assert.deepEqual(first, { id: "1", run: 1 });
  assert.equal(second, first);
  assert.equal(source.runs, 1);
  assert.equal(dialcache.stats().useCases.GetUser.hits.local, 1);
  await dialcache.close();
}

async function requestLocalHit({ DialCache, DialCacheKeyConfig }) {
  const dialcache = new DialCache({ namespace: "consumer" });
  const { source, get } = counted(dialcache, new DialCacheKeyConfig({ requestLocal: true }));
  const request = () => dialcache.enable(async () => [await get("1"), await get("1")]);
  assert.deepEqual(await request(), [
    { id: "1", run: 1 },
    { id: "1", run: 1 },
  ]);
  assert.deepEqual((await request())[0], { id: "1", run: 2 });
  assert.equal(source.runs, 2);
  await dialcache.close();
}

/** The namespace is the caller's own: the process and its worker use one server. */
async function redisHit({ DialCache, DialCacheKeyConfig, RedisClient }, namespace) {
  if (!redisUrl) return;
  const client = new RedisClient({ url: redisUrl });
  const instance = () => new DialCache({ namespace, redis: { client, readTimeoutMs: 10_000 } });
  const remoteOnly = new DialCacheKeyConfig({ ttlSec: { remote: 60 }, ramp: { remote: 100 } });
  const [writer, reader] = [instance(), instance()];
  const written = counted(writer, remoteOnly);
  assert.deepEqual(await writer.enable(() => written.get("1")), { id: "1", run: 1 });
  await writer.drain();
  const read = counted(reader, remoteOnly);
  assert.deepEqual(await reader.enable(() => read.get("1")), { id: "1", run: 1 });
  assert.equal(read.source.runs, 0);
  assert.equal(reader.stats().useCases.GetUser.hits.remote, 1);
  await Promise.all([writer.close(), reader.close()]);
  await client.close();
}

async function frozenRedis({ DialCache, DialCacheKeyConfig, RedisClient }) {
  const client = new RedisClient({ url: redisUrl });
  const redis = { client, readTimeoutMs: 10_000 };
  const dialcache = new DialCache({ namespace: `frozen-${process.pid}`, redis });
  const { source, get } = counted(dialcache, new DialCacheKeyConfig({ ttlSec: { remote: 60 }, ramp: { remote: 100 } }));
  // The connection stands before the server does.
  await dialcache.enable(() => get("1"));
  await dialcache.drain();
  const impatient = new DialCache({ namespace: `frozen-${process.pid}`, redis: { client, readTimeoutMs: 25 } });
  const late = counted(impatient, new DialCacheKeyConfig({ ttlSec: { remote: 60 }, ramp: { remote: 100 } }));
  process.kill(redisPid, "SIGSTOP");
  try {
    assert.deepEqual(await impatient.enable(() => late.get("1")), { id: "1", run: 1 });
  } finally {
    process.kill(redisPid, "SIGCONT");
  }
  assert.equal(source.runs, 1);
  assert.equal(impatient.stats().useCases.GetUser.readTimeouts, 1);
  await Promise.all([dialcache.close(), impatient.close()]);
  await client.close();
}

/** All of it; `worker` is the worker thread that the caller has just started, which says "done". */
async function work(dialcache, worker) {
  // Listens from the start: what a worker says to nobody is lost.
  const said = new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
  await localHit(dialcache);
  await requestLocalHit(dialcache);
  await redisHit(dialcache, `main-${process.pid}`);
  if (redisPid > 0) await frozenRedis(dialcache);
  assert.equal(await said, "done");
}

module.exports = { work, localHit, redisHit };
