// An ES module service. It ends by itself: nothing of the package keeps a process.
import { Worker } from "node:worker_threads";
import * as dialcache from "dialcache-native";
import working from "./work.cjs";

await working.work(dialcache, new Worker(new URL("./worker.mjs", import.meta.url)));
console.log("used");
