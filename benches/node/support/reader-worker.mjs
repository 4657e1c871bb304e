/** A worker thread that reads: each with a cache and clients of its own. */
import { parentPort, workerData } from "node:worker_threads";
import { dialcacheLocal, dialcacheRedis, nodeRedis } from "./caches.mjs";
import { inFlight } from "./in-flight.mjs";

const { url, ids, keyOf, value, width } = workerData;
const never = async (id) => {
  throw new Error(`${id} was not found in Redis`);
};
const remote = await dialcacheRedis(never, { url });
const plain = await nodeRedis(url);
const local = dialcacheLocal(async () => value);
await local.cache.enable(() => Promise.all(ids.map((id) => local.get(id))));

const at = (op) => ids[op % ids.length];
const kinds = {
  redis: (ops) => remote.cache.enable(() => inFlight(width, ops, (op) => remote.get(at(op)))),
  plain: (ops) => inFlight(width, ops, async (op) => JSON.parse(await plain.get(`${keyOf}${at(op)}`))),
  local: (ops) =>
    local.cache.enable(async () => {
      for (let op = 0; op < ops; op++) await local.get(at(op));
    }),
};

parentPort.on("message", async ({ kind, ops }) => {
  if (kind === "close") {
    await remote.close();
    await local.cache.close();
    plain.destroy();
    parentPort.close();
    return;
  }
  await kinds[kind](ops);
  parentPort.postMessage("done");
});
parentPort.postMessage("ready");
