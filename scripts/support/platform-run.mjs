// Installs packed packages as npm does on a platform, and runs the consumers' services with a Node of that platform: hits
// of every layer, a frozen Redis, a worker thread and an orderly end.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RedisServer } from "../demo/servers.mjs";
import { startRegistry } from "./registry.mjs";
import { root, SetupError } from "./run.mjs";

const services = ["service.mjs", "service.cjs"];

function run(command, args, { cwd, env }) {
  const shell = process.platform === "win32" && command === "npm";
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, timeout: 300_000, shell });
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

async function serve([command, ...args], folder, withRedis) {
  for (const service of services) {
    const redis = withRedis ? await RedisServer.start() : undefined;
    try {
      const env = redis ? { CONSUMER_REDIS_URL: redis.url, CONSUMER_REDIS_PID: String(redis.pid) } : {};
      const output = await run(command, [...args, service], { cwd: folder, env });
      if (!/^used\r?$/m.test(output)) throw new SetupError(`${service} did not get to its end:\n${output}`);
    } finally {
      redis?.end();
    }
  }
}

/** Installs the tarballs for each platform, runs them with its Node, and answers what ran by platform. */
export async function runPackages(tarballs, runtimes, { withRedis = true } = {}) {
  const scratch = mkdtempSync(join(tmpdir(), "dialcache-platforms-"));
  const registry = await startRegistry(tarballs);
  const results = {};
  try {
    for (const [platform, runtime] of Object.entries(runtimes)) {
      const folder = join(scratch, platform);
      await install(platform, folder, registry);
      const [command, ...args] = runtime;
      const version = (await run(command, [...args, "-p", "process.version"], { cwd: folder })).trim();
      await serve(runtime, folder, withRedis);
      results[platform] = `ran ${services.join(" and ")} with Node ${version}${withRedis ? "" : ", without Redis"}`;
    }
  } finally {
    registry.stop();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
  return results;
}
