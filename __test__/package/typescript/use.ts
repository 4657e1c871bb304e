// A TypeScript service that uses the installed package. Compiled under several module settings.
import { DialCache, DialCacheError, DialCacheKeyConfig, RedisClient, StringSerializer } from "dialcache-native";
import { createDatadogDialCacheMetrics } from "dialcache-native/datadog";
import { createIoredisDialCacheClient } from "dialcache-native/ioredis";
import { createNodeRedisDialCacheClient, dialcacheRedisScripts } from "dialcache-native/node-redis";
import { createOpenTelemetryDialCacheMetrics } from "dialcache-native/opentelemetry";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import { decodeFrame, encodeFrame } from "dialcache-native/redis-protocol";
import { installClock, manualClock } from "dialcache-native/testing";
import { createValkeyGlideDialCacheClient } from "dialcache-native/valkey-glide";

interface User {
  id: string;
  load: number;
}

async function main(): Promise<void> {
  const uninstall = installClock(manualClock());
  uninstall();

  // Without any of the backends' packages installed.
  const sent: string[] = [];
  const send = (name: string): unknown => sent.push(name);
  const metrics = createDatadogDialCacheMetrics({
    client: { increment: send, histogram: send, distribution: send },
    observationMetricType: "distribution",
  });
  const dialcache = new DialCache({ namespace: "package-test", metrics });
  let loads = 0;
  const getUser = dialcache.cached(async (id: string): Promise<User> => ({ id, load: ++loads }), {
    keyType: "user_id",
    useCase: "GetUser",
    cacheKey: (id) => id,
    defaultConfig: DialCacheKeyConfig.enabled(60),
  });
  const users: User[] = await dialcache.enable(async () => [await getUser("1"), await getUser("1")]);
  if (users[1]?.load !== 1) throw new Error("the second call is a hit");
  metrics.flush();
  if (!sent.includes("dialcache.request.count")) throw new Error("metrics are sent");
  const factories = [createOpenTelemetryDialCacheMetrics, createPrometheusDialCacheMetrics];
  if (factories.some((factory) => typeof factory !== "function")) throw new Error("a factory is missing");

  // @ts-expect-error The argument's type is the source's.
  const wrong = () => getUser(1);
  // @ts-expect-error readTimeoutMs is required.
  const unbounded = () => new DialCache({ redis: { client: new RedisClient({ url: "redis://127.0.0.1:6379" }) } });
  const serializer: { load(payload: string | Buffer): unknown } = new StringSerializer();
  const codeOf = (error: unknown): string => (error instanceof DialCacheError ? error.code : "not ours");
  // The adapters' types need none of the clients' packages.
  const client = createNodeRedisDialCacheClient({ sendCommand: async () => encodeFrame("a", 1) });
  const cache = new DialCache({ redis: { client, readTimeoutMs: 50 } });
  await cache.close();
  if (decodeFrame(encodeFrame("a", 1))?.payload !== "a") throw new Error("frames");
  const adapters = [createIoredisDialCacheClient, createValkeyGlideDialCacheClient, dialcacheRedisScripts];
  for (const used of [wrong, unbounded, serializer, codeOf, ...adapters]) if (!used) throw new Error("unused");

  await dialcache.close();
  console.log("used");
}

void main();
