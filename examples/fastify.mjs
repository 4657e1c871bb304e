// A Fastify service behind the cache: one scope per request by a hook, and its metrics for Prometheus.
//
//   REDIS_URL=redis://127.0.0.1:6379 node examples/fastify.mjs
import { setTimeout as sleep } from "node:timers/promises";
import { DialCache, DialCacheKeyConfig, FallbackTimeoutError, RedisClient } from "dialcache-native";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import fastify from "fastify";
import { Registry } from "prom-client";

const registry = new Registry();
const redis = new RedisClient({ clientName: "fastify" });
const dialcache = new DialCache({
  namespace: "fastify",
  redis: { client: redis, readTimeoutMs: 50 },
  metrics: createPrometheusDialCacheMetrics({ registry, prefix: "myapp_" }),
});

const getUser = dialcache.cached(loadUser, {
  keyType: "user_id",
  useCase: "GetUser",
  cacheKey: (id) => id,
  defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 5, remote: 60 }, requestLocal: true }),
  fallbackTimeoutMs: 2_000,
});

/** Stands for the database. */
async function loadUser(id) {
  await sleep(20);
  return { id, name: `User ${id}` };
}

const app = fastify();

// The scope lasts until the response is finished; with `done` called in it, the handler runs in it too.
app.addHook("onRequest", (_request, reply, done) => {
  void dialcache.enable(() => {
    const finished = new Promise((resolve) => reply.raw.once("close", resolve));
    done();
    return finished;
  });
});

// Only the source fails here: what goes wrong with Redis never reaches a caller.
app.setErrorHandler((error, _request, reply) => {
  reply.status(error instanceof FallbackTimeoutError ? error.status : 500).send({ error: "could not be loaded" });
});

app.get("/users/:id", (request) => getUser(request.params.id));

app.get("/metrics", async (_request, reply) => {
  reply.type(registry.contentType);
  return await registry.metrics();
});

// In this order: what has come in is answered, values on their way to Redis arrive, and nothing holds the process.
app.addHook("onClose", async () => {
  await dialcache.drain({ timeoutMs: 2_000 });
  await dialcache.close();
  redis.close();
});

const origin = await app.listen({ port: 0, host: "127.0.0.1" });

// A service would end here. This one asks itself a few questions and goes, so that it ends when it is run as an example.
for (const path of ["/users/1", "/users/1", "/users/2"]) {
  const response = await fetch(origin + path);
  console.log(response.status, await response.text());
}
const metrics = await (await fetch(`${origin}/metrics`)).text();
for (const line of metrics.split("\n")) if (/^myapp_dialcache_(request|miss)_counter\{/.test(line)) console.log(line);

await app.close();
