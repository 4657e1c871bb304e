import { describe, expect, it, onTestFinished } from "vitest";
import { packageEntry, runScript } from "../support/child";
import { startRedis } from "../support/redis-server";

const WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
const dialcache = require(workerData.entry);
const client = new dialcache.RedisClient({ url: workerData.url });
const cache = new dialcache.DialCache({ namespace: workerData.namespace, redis: { client, readTimeoutMs: 5000 }, logger: null });
let calls = 0;
const load = cache.cached(async (id) => { calls += 1; await new Promise((resolve) => setTimeout(resolve, 20)); return id; }, {
  keyType: "user_id", useCase: "GetUser", cacheKey: (id) => id,
  defaultConfig: dialcache.DialCacheKeyConfig.enabled(60),
});
`;

/** Loads the package in worker threads only, as a service that isolates its cache would. */
const script = (body: string) => `
const { Worker } = require("node:worker_threads");
const start = (source, data) => new Worker(source, { eval: true, workerData: { entry: process.env.ENTRY, url: process.env.URL, namespace: "workers", ...data } });
const WORKER = process.env.WORKER;
(async () => { ${body} })().catch((error) => { console.error(error); process.exitCode = 1; });`;

async function inWorkers(body: string) {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  return runScript(script(body), { URL: server.url, ENTRY: packageEntry, WORKER }, false);
}

describe("worker threads", () => {
  it("100 started and terminated with calls in flight: exit code 0", async () => {
    const result = await inWorkers(`
      for (let batch = 0; batch < 25; batch += 1) {
        const workers = [0, 1, 2, 3].map(() => start(WORKER + \`
          const ids = Array.from({ length: 200 }, (_, index) => String(Math.random()));
          cache.enable(() => Promise.all(ids.map((id) => load(id)))).catch(() => {});
          setImmediate(() => parentPort.postMessage("busy"));
        \`));
        await Promise.all(workers.map((worker) => new Promise((resolve, reject) => {
          worker.once("message", resolve);
          worker.once("error", reject);
        })));
        await Promise.all(workers.map((worker) => worker.terminate()));
      }
      console.log("ended");`);
    expect(result).toEqual({ code: 0, signal: null, stdout: "ended\n", stderr: "" });
  });

  it("two with the same namespace and key do not share a flight or a local value: two loads", async () => {
    const result = await inWorkers(`
      const once = (worker) => new Promise((resolve, reject) => {
        worker.once("message", resolve);
        worker.once("error", reject);
      });
      const source = WORKER + \`
        const local = new dialcache.DialCache({ namespace: "workers" });
        let loads = 0;
        const loadLocal = local.cached(async () => { loads += 1; }, {
          keyType: "user_id", useCase: "GetUser", cacheKey: () => "1",
          defaultConfig: dialcache.DialCacheKeyConfig.enabled(60),
        });
        parentPort.once("message", async () => {
          await local.enable(() => Promise.all([loadLocal(), loadLocal()]));
          parentPort.postMessage(loads);
          await client.close();
        });
        parentPort.postMessage("ready");
      \`;
      const workers = [start(source), start(source)];
      await Promise.all(workers.map(once));
      const counts = workers.map(once);
      for (const worker of workers) worker.postMessage("go");
      console.log((await Promise.all(counts)).join());`);
    expect(result).toEqual({ code: 0, signal: null, stdout: "1,1\n", stderr: "" });
  });

  it("one that ends by itself does not hold the process", async () => {
    const result = await inWorkers(`
      const worker = start(WORKER + 'cache.enable(() => load("1")).then((value) => parentPort.postMessage(value));');
      worker.on("message", (value) => console.log(value));
      worker.on("exit", (code) => console.log("exit", code));`);
    expect(result).toEqual({ code: 0, signal: null, stdout: "1\nexit 0\n", stderr: "" });
  });

  it("process.exit() in the middle of everything", async () => {
    const result = await inWorkers(`
      const worker = start(WORKER + 'cache.enable(() => Promise.all(Array.from({ length: 100 }, (_, id) => load(String(id))))); parentPort.postMessage(1);');
      worker.once("message", () => process.exit(0));`);
    expect(result).toMatchObject({ code: 0, signal: null, stderr: "" });
  });
});
