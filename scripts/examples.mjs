// Runs every script in examples/ against a Redis server of its own; one that exits with an error fails the run.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ensure } from "./ensure.mjs";
import { main, note, root, SetupError, status } from "./support/run.mjs";

await main(async () => {
  ensure();
  const { RedisServer } = await import("./demo/servers.mjs");
  const names = readdirSync(join(root, "examples")).filter((name) => /\.[cm]?js$/.test(name));
  const redis = await RedisServer.start();
  try {
    const env = { ...process.env, REDIS_URL: redis.url };
    const failed = names.sort().filter((name) => {
      note(`examples/${name}`);
      return status(process.execPath, [join("examples", name)], { env, timeout: 120_000 }) !== 0;
    });
    if (failed.length > 0) throw new SetupError(`failed: ${failed.join(", ")}`);
    note(`${names.length} examples ran`);
  } finally {
    redis.end();
  }
});
