const { parentPort } = require("node:worker_threads");
const dialcache = require("dialcache-native");
const { localHit, redisHit } = require("./work.cjs");

localHit(dialcache)
  .then(() => redisHit(dialcache, `worker-${process.pid}`))
  .then(() => parentPort.postMessage("done"));
