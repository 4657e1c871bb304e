// Calls that succeed, of every kind: local hits and misses with evictions, request-local values, followers, Redis hits,
// misses and writes, invalidations, hedged reads and hedged sources.
import { zipf } from "../demo/random.mjs";
import { dialcache, given, leftovers, soak, withRedis } from "./phase.mjs";

const { DialCache, DialCacheKeyConfig, RedisClient, source } = dialcache;
const { count, random } = given();

/** Calls made at once. */
const BATCH = 200;
const rank = zipf(50_000, 0.9, random);
const later = (value) => new Promise((resolve) => setImmediate(resolve, value));

await withRedis(async ({ url }) => {
  const client = new RedisClient({ url });
  await client.ready({ timeoutMs: 5_000 });
  const local = new DialCache({ namespace: "local", logger: null });
  const remote = new DialCache({ namespace: "remote", redis: { client, readTimeoutMs: 5_000 }, logger: null });
  const useCase = (cache, name, load, options) =>
    cache.cached(load, { keyType: "user_id", useCase: name, cacheKey: (id) => id, ...options });
  const object = async (id) => ({ id, name: `user ${id}`, tags: ["a", "b"] });

  const hot = useCase(local, "Hot", object, { defaultConfig: DialCacheKeyConfig.enabled(60) });
  const requestLocal = useCase(local, "RequestLocal", object, {
    defaultConfig: new DialCacheKeyConfig({ requestLocal: true }),
  });
  const joined = useCase(local, "Joined", (id) => later({ id }), { defaultConfig: new DialCacheKeyConfig({}) });
  const inRedis = new DialCacheKeyConfig({ ttlSec: { remote: 60 } });
  const stored = useCase(remote, "Stored", object, { defaultConfig: inRedis });
  const tracked = useCase(remote, "Tracked", object, { defaultConfig: inRedis, trackForInvalidation: true });
  const hedgedRead = useCase(remote, "HedgedRead", object, { defaultConfig: inRedis, readHedge: { delayMs: 1 } });
  const slowOnce = (id) =>
    id.endsWith("7") ? new Promise((resolve) => setTimeout(resolve, 5, { id })) : later({ id });
  const hedged = source([(_ctx, id) => slowOnce(id), (_ctx, id) => later({ id })], {
    name: "hedged",
    idempotent: true,
    timeoutMs: 5_000,
    hedge: { delayMs: 2 },
  });

  const kinds = [
    [0.7, () => hot(String(rank()))],
    [0.15, () => requestLocal(String(rank() % 100))],
    [0.08, () => joined(String(rank() % 10))],
    [0.04, () => stored(String(rank()))],
    [0.015, () => tracked(String(rank()))],
    [0.005, () => hedgedRead(String(rank()))],
    [0.005, () => hedged.execute({}, String(rank()))],
    [0.005, () => remote.invalidateRemote("user_id", String(rank()))],
  ];
  const any = () => {
    let share = random();
    const kind = kinds.find(([part]) => {
      share -= part;
      return share < 0;
    });
    return (kind ?? kinds[0])[1];
  };
  const batch = async () => {
    const run = () => Promise.all(Array.from({ length: BATCH }, () => any()()));
    await local.enable(() => remote.enable(run));
    return BATCH;
  };
  const problems = async () => {
    if (!(await remote.drain({ timeoutMs: 10_000 }))) return ["writes are pending after ten seconds"];
    await new Promise((resolve) => setTimeout(resolve, 100));
    const found = leftovers({ local, remote });
    const { sourceCalls } = remote.stats().useCases.Stored;
    if (sourceCalls === 0 || client.status !== "ready") found.push("Redis was not part of it");
    client.close();
    return found;
  };
  await soak({ name: "operations", unit: "operations", count, batch, problems });
});
