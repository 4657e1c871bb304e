// Installs the packed tarballs into empty projects, as a user would, and uses them there.
//
//   npm run test:pack                                everything
//   npm run test:pack -- bundlers                    the files of __test__/package whose name contains the word
//   npm run test:pack -- --packages FOLDER [word]    with the tarballs in FOLDER instead of freshly packed ones
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ensure } from "./ensure.mjs";
import { packAll } from "./pack.mjs";
import { ensureConsumers } from "./support/consumers.mjs";
import { packPlatform } from "./support/pack.mjs";
import { platformName } from "./support/platform.mjs";
import { manifestOf, packageOf, platforms } from "./support/platforms.mjs";
import { ensureRedis } from "./support/redis.mjs";
import { startRegistry } from "./support/registry.mjs";
import { main, root, SetupError } from "./support/run.mjs";

/** The tarballs by platform, and the root's as `main`. */
function packed(folder, scratch) {
  if (!folder) {
    const { main, platform } = packAll(scratch);
    return { main, [platformName()]: platform };
  }
  ensure(["modules"]);
  const { version } = manifestOf(".");
  const path = (name) => resolve(folder, `${name}-${version}.tgz`);
  const names = [["main", "dialcache-native"], ...platforms.map((platform) => [platform, packageOf(platform)])];
  const tarballs = Object.fromEntries(names.map(([key, name]) => [key, path(name)]).filter(([, at]) => existsSync(at)));
  for (const key of ["main", platformName()]) {
    if (!tarballs[key]) throw new SetupError(`${folder} has no tarball of ${key} at version ${version}`);
  }
  return tarballs;
}

/** For platforms that were not built: package managers must see them, and none may load them. */
function standIns(tarballs, scratch) {
  const binary = join(scratch, "stand-in");
  writeFileSync(binary, "stands in for the binary of another platform");
  const missing = platforms.filter((platform) => !tarballs[platform]);
  return missing.map((platform) => packPlatform(platform, binary, scratch));
}

function runTests(files, packages) {
  const args = ["--test", "--test-concurrency=2", ...files];
  const env = { ...process.env, DIALCACHE_PACKAGES: JSON.stringify(packages) };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "inherit", "inherit"] });
  return new Promise((done) => child.once("exit", done));
}

await main(async () => {
  const args = process.argv.slice(2);
  const folder = args[0] === "--packages" ? args.splice(0, 2)[1] : undefined;
  const tests = join(root, "__test__", "package");
  const names = readdirSync(tests).filter((name) => name.endsWith(".test.mjs"));
  const files = names.filter((name) => args.every((word) => name.includes(word))).map((name) => join(tests, name));
  if (files.length === 0) throw new SetupError(`no file in __test__/package is named after ${args.join(" ")}`);
  const scratch = mkdtempSync(join(tmpdir(), "dialcache-pack-"));
  try {
    const redisServer = ensureRedis();
    const tarballs = packed(folder, scratch);
    ensureConsumers();
    const registry = await startRegistry([...Object.values(tarballs), ...standIns(tarballs, scratch)]);
    process.env.REDIS_SERVER = redisServer;
    const host = platformName();
    const packages = { scratch, registry: registry.url, main: tarballs.main, platform: tarballs[host], host };
    process.exitCode = (await runTests(files, packages)) ?? 1;
    registry.stop();
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
});
