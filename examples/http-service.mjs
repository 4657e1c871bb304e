// A plain node:http service behind the cache: one scope per request, figures under /stats and for Prometheus under
// /metrics, and an end that loses nothing.
//
//   REDIS_URL=redis://127.0.0.1:6379 node examples/http-service.mjs
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { DialCache, DialCacheKeyConfig, FallbackTimeoutError, RedisClient } from "dialcache-native";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import { Registry } from "prom-client";

const redis = new RedisClient({ clientName: "http-service" });
redis.on("status", (status) => console.log(`redis: ${status}`));

const registry = new Registry();

const dialcache = new DialCache({
  namespace: "http-service",
  redis: { client: redis, readTimeoutMs: 50 },
  metrics: createPrometheusDialCacheMetrics({ registry }),
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
  console.log(`loading user ${id}`);
  await sleep(20);
  return { id, name: `User ${id}` };
}

async function route(path) {
  if (path === "/stats") return { cache: dialcache.stats(), redis: redis.stats() };
  const id = /^\/users\/(\w+)$/.exec(path)?.[1];
  return id === undefined ? undefined : await getUser(id);
}

const server = createServer(async (request, response) => {
  const answer = (status, body) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  try {
    if (request.url === "/metrics") {
      response.writeHead(200, { "content-type": registry.contentType }).end(await registry.metrics());
      return;
    }
    // Everything the request awaits is cached, and its request-local values go with it.
    const body = await dialcache.enable(() => route(request.url));
    if (body === undefined) answer(404, { error: "not found" });
    else answer(200, body);
  } catch (error) {
    // Only the source fails here: what goes wrong with Redis never reaches a caller.
    answer(error instanceof FallbackTimeoutError ? error.status : 500, { error: "could not be loaded" });
  }
});

/** Answers what has come in, lets values on their way to Redis arrive, and leaves nothing that holds the process. */
async function shutDown() {
  server.close();
  server.closeIdleConnections();
  await once(server, "close");
  const written = await dialcache.drain({ timeoutMs: 2_000 });
  await dialcache.close();
  redis.close();
  console.log(`closed, ${written ? "every value written" : "some values not written"}`);
}

process.once("SIGTERM", shutDown);

server.listen(0, "127.0.0.1");
await once(server, "listening");

// A service would end here. This one asks itself a few questions and goes, so that it ends when it is run as an example.
const origin = `http://127.0.0.1:${server.address().port}`;
const answers = await Promise.all(["/users/1", "/users/1", "/users/2", "/nobody"].map((path) => fetch(origin + path)));
for (const response of answers) console.log(response.status, await response.text());

const { cache } = await (await fetch(`${origin}/stats`)).json();
console.log(`source calls: ${cache.useCases.GetUser.sourceCalls}`);
const metrics = await (await fetch(`${origin}/metrics`)).text();
console.log(metrics.split("\n").find((line) => line.startsWith("dialcache_request_counter{")));
process.kill(process.pid, "SIGTERM");
