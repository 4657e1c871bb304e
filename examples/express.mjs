// An Express service behind the cache: one scope per request by a middleware, and its metrics for Prometheus.
//
//   REDIS_URL=redis://127.0.0.1:6379 node examples/express.mjs
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { DialCache, DialCacheKeyConfig, FallbackTimeoutError, RedisClient } from "dialcache-native";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import express from "express";
import { Registry } from "prom-client";

const registry = new Registry();
const redis = new RedisClient({ clientName: "express" });
const dialcache = new DialCache({
  namespace: "express",
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

const app = express();

// Scraped outside any scope: nothing here is cached.
app.get("/metrics", async (_request, response) => {
  response.type(registry.contentType).send(await registry.metrics());
});

// The scope lasts until the response is finished, and every handler below runs in it.
app.use((_request, response, next) => {
  void dialcache.enable(() => {
    const finished = new Promise((resolve) => response.once("close", resolve));
    next();
    return finished;
  });
});

app.get("/users/:id", async (request, response) => {
  response.json(await getUser(request.params.id));
});

// Only the source fails here: what goes wrong with Redis never reaches a caller.
app.use((error, _request, response, _next) => {
  response.status(error instanceof FallbackTimeoutError ? error.status : 500).json({ error: "could not be loaded" });
});

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");

// A service would end here. This one asks itself a few questions and goes, so that it ends when it is run as an example.
const origin = `http://127.0.0.1:${server.address().port}`;
for (const path of ["/users/1", "/users/1", "/users/2"]) {
  const response = await fetch(origin + path);
  console.log(response.status, await response.text());
}
const metrics = await (await fetch(`${origin}/metrics`)).text();
for (const line of metrics.split("\n")) if (/^myapp_dialcache_(request|miss)_counter\{/.test(line)) console.log(line);

server.close();
server.closeAllConnections();
await dialcache.drain({ timeoutMs: 2_000 });
await dialcache.close();
redis.close();
