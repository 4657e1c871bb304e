// Runs every script in examples/ against a Redis server of its own; one that exits with an error fails the run.
import { ensure } from "./ensure.mjs";
import { main, note, SetupError, status } from "./support/run.mjs";
import { filesBelow } from "./support/stamp.mjs";

await main(async () => {
  ensure();
  const { RedisServer } = await import("./demo/servers.mjs");
  const { endAll } = await import("./demo/children.mjs");
  const names = filesBelow("examples").filter((name) => /\.[cm]?js$/.test(name));
  const redis = await RedisServer.start();
  try {
    const env = { ...process.env, REDIS_URL: redis.url };
    const failed = names.filter((name) => {
      note(name);
      return status(process.execPath, [name], { env, timeout: 120_000 }) !== 0;
    });
    if (failed.length > 0) throw new SetupError(`failed: ${failed.join(", ")}`);
    note(`${names.length} examples ran`);
  } finally {
    endAll();
  }
});
