// Installs a release's tarballs as they are, and runs them on this platform. Needs nothing but Node and a Redis server,
// which it installs when it may; on Windows it does without.
//
//   node scripts/try-release.mjs FOLDER
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { platformName } from "./support/platform.mjs";
import { runPackages } from "./support/platform-run.mjs";
import { ensureRedis } from "./support/redis.mjs";
import { main, SetupError } from "./support/run.mjs";

await main(async () => {
  const folder = process.argv[2];
  if (!folder) throw new SetupError("use: node scripts/try-release.mjs FOLDER");
  const withRedis = process.platform !== "win32";
  if (withRedis) process.env.REDIS_SERVER = ensureRedis();
  const tarballs = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  const platform = platformName();
  const results = await runPackages(
    tarballs.map((name) => resolve(join(folder, name))),
    { [platform]: [process.execPath] },
    { withRedis },
  );
  process.stdout.write(`${platform}: ${results[platform]}\n`);
});
