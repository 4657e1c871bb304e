import { parentPort } from "node:worker_threads";
import * as dialcache from "dialcache-native";
import working from "./work.cjs";

await working.localHit(dialcache);
await working.redisHit(dialcache, `worker-${process.pid}`);
parentPort.postMessage("done");
