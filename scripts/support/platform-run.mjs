// Installs the packed binaries as npm does on their platforms, and runs the consumers' services with Nodes of these
// platforms: hits of every layer, a frozen Redis, a worker thread and an orderly end.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RedisServer } from "../demo/servers.mjs";
import { ensure } from "../ensure.mjs";
import { packPlatform, packRoot } from "./pack.mjs";
import { runtimeOf, wayOf } from "./platform-runtime.mjs";
import { builtBinary } from "./platforms.mjs";
import { startRegistry } from "./registry.mjs";
import { note, root, SetupError } from "./run.mjs";

const services = ["service.mjs", "service.cjs"];

function run(command, args, { cwd, env }) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, timeout: 300_000 });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      output += data;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status, signal) => {
      if (status === 0) resolve(output);
      else reject(new SetupError(`${[command, ...args].join(" ")} ended with ${status ?? signal}:\n${output}`));
    });
  });
}

async function install(platform, folder, registry) {
  const [os, cpu, abi] = platform.split("-");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "service", private: true }));
  cpSync(join(root, "__test__", "package", "service"), folder, { recursive: true });
  const env = {
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, "..", "npm-cache"),
    npm_config_audit: "false",
    npm_config_fund: "false",
  };
  const libc = os === "linux" ? [`--libc=${abi === "musl" ? "musl" : "glibc"}`] : [];
  await run("npm", ["install", "dialcache-native", `--os=${os}`, `--cpu=${cpu}`, ...libc], { cwd: folder, env });
}

async function serve(command, args, folder) {
  for (const service of services) {
    const redis = await RedisServer.start();
    try {
      const env = { CONSUMER_REDIS_URL: redis.url, CONSUMER_REDIS_PID: String(redis.pid) };
      const output = await run(command, [...args, service], { cwd: folder, env });
      if (!/^used$/m.test(output)) throw new SetupError(`${service} did not get to its end:\n${output}`);
    } finally {
      redis.end();
    }
  }
}

/** Runs those of the built platforms that have a Node here; answers what was run by platform. */
export async function runPlatforms(names) {
  ensure(["modules", "redis", "addon", "dist"]);
  const scratch = mkdtempSync(join(tmpdir(), "dialcache-platforms-"));
  const results = {};
  let registry;
  try {
    const packed = names.map((platform) => packPlatform(platform, builtBinary(platform), scratch));
    registry = await startRegistry([packRoot(scratch), ...packed]);
    for (const platform of names) {
      const runtime = runtimeOf(platform);
      if (!runtime) continue;
      note(`running ${platform} ${wayOf(platform)}`);
      const folder = join(scratch, platform);
      await install(platform, folder, registry);
      const [command, ...args] = runtime;
      const version = (await run(command, [...args, "-p", "process.version"], { cwd: folder })).trim();
      await serve(command, args, folder);
      results[platform] = `ran ${services.join(" and ")} with Node ${version} ${wayOf(platform)}`;
    }
  } finally {
    registry?.stop();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
  return results;
}
