// A CommonJS service. It ends by itself: nothing of the package keeps a process.
const { join } = require("node:path");
const { Worker } = require("node:worker_threads");
const dialcache = require("dialcache-native");
const { work } = require("./work.cjs");

work(dialcache, new Worker(join(__dirname, "worker.cjs"))).then(() => console.log("used"));
