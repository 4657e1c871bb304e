// Worker threads that are started, and terminated in the middle of their calls.
import { Worker } from "node:worker_threads";
import { entry, given, soak, withRedis } from "./phase.mjs";

const { count, random } = given();

/** Workers at once. */
const BATCH = 4;

const body = `
const { parentPort, workerData } = require("node:worker_threads");
const { DialCache, DialCacheKeyConfig, RedisClient } = require(workerData.entry);
const client = new RedisClient({ url: workerData.url });
const cache = new DialCache({ namespace: "workers", redis: { client, readTimeoutMs: 5000 }, logger: null });
const load = cache.cached((id) => new Promise((resolve) => setTimeout(resolve, 1_000, id)), {
  keyType: "user_id", useCase: "GetUser", cacheKey: (id) => id, defaultConfig: DialCacheKeyConfig.enabled(60),
});
const run = () => cache.enable(() => Promise.all(Array.from({ length: 200 }, () => load(String(Math.random())))));
const busy = () => { run().catch(() => {}); setImmediate(() => parentPort.postMessage("busy")); };
if (workerData.connected) client.ready({ timeoutMs: 5000 }).then(busy, busy);
else busy();
`;

await withRedis(async ({ url }) => {
  const codes = new Map();
  const one = () =>
    new Promise((resolve, reject) => {
      const worker = new Worker(body, { eval: true, workerData: { entry, url, connected: random() < 0.5 } });
      // From at once to when the first replies are there.
      const patience = Math.floor(random() * 10);
      worker.once("message", () => setTimeout(() => worker.terminate(), patience));
      worker.once("error", reject);
      worker.once("exit", (code) => {
        codes.set(code, (codes.get(code) ?? 0) + 1);
        resolve();
      });
    });
  const batch = async () => {
    await Promise.all(Array.from({ length: BATCH }, one));
    return BATCH;
  };
  // 1 is what terminate() ends a worker with.
  const problems = async () => (codes.size === 1 && codes.has(1) ? [] : [`exit codes ${[...codes].join("; ")}`]);
  // A few megabytes come and go with the threads' own allocators, whichever of them the next worker gets.
  const noise = { rss: 0.15 };
  await soak({ name: "workers", unit: "workers", count, batch, problems, noise });
});
