// Empty projects with the packed package in them, and what runs there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RedisServer } from "../../scripts/demo/servers.mjs";
import { consumerTools } from "../../scripts/support/consumers.mjs";
import { root } from "../../scripts/support/run.mjs";

/** What scripts/pack-test.mjs has packed: the tarballs, a registry that has them, and a folder for projects. */
export const packages = JSON.parse(process.env.DIALCACHE_PACKAGES ?? "{}");
if (!packages.main) throw new Error("these tests are run by: npm run test:pack");

export const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
export const fixture = (name) => join(root, "__test__", "package", name);
/** A tool of the repository, or of the consumers. */
export const own = (path) => join(root, "node_modules", path);
export const tool = (path) => join(consumerTools, "node_modules", path);

// A user's shell has none of this repository's npm settings; and nothing of a test may stay in the user's npm cache.
const userEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:npm_|NODE_OPTIONS$|NODE_TEST_|DIALCACHE_)/.test(name)),
);
const npmEnv = {
  npm_config_registry: packages.registry,
  npm_config_cache: join(packages.scratch, "npm-cache"),
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_update_notifier: "false",
  npm_config_loglevel: "error",
};

/** Runs a command to its end; the time limit only ends what hangs. */
export function run(command, args, { cwd, env = {}, input } = {}) {
  const child = spawn(command, args, {
    cwd,
    env: { ...userEnv, ...npmEnv, ...env },
    timeout: 600_000,
    killSignal: "SIGKILL",
    shell: process.platform === "win32" && command === "npm",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text) => {
      output += text;
    });
  }
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status, signal) => resolve({ status, signal, output }));
  });
}

/** Runs a command that must succeed; answers what it printed. */
export async function succeed(command, args, options) {
  const { status, signal, output } = await run(command, args, options);
  assert.equal(status, 0, `${[command, ...args].join(" ")} ended with ${status ?? signal}:\n${output}`);
  return output;
}

/** An empty project. */
export function emptyProject(name, manifest = {}, parent = packages.scratch) {
  const folder = mkdtempSync(join(parent, `${name}-`));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version: "1.0.0", private: true, ...manifest }));
  return folder;
}

/** Installs from the registry of the packed tarballs. */
export function npmInstall(folder, ...args) {
  return succeed("npm", ["install", ...args], { cwd: folder });
}

/** A project that has the package installed, and a fixture's files. */
export async function project(name, { manifest, files, parent, flags = [] } = {}) {
  const folder = emptyProject(name, manifest, parent);
  await npmInstall(folder, "dialcache-native", ...flags);
  if (files) cpSync(fixture(files), folder, { recursive: true });
  return folder;
}

/** A Redis server of its own for the time of `body`. */
export async function withRedis(body) {
  const server = await RedisServer.start();
  try {
    return await body({ CONSUMER_REDIS_URL: server.url, CONSUMER_REDIS_PID: String(server.pid) }, server);
  } finally {
    server.end();
  }
}

/** Runs a fixture that says "used" at its end and must then end by itself. */
export async function use(command, args, options) {
  assert.match(await succeed(command, args, options), /^used$/m);
}

/** What a project's `require` of the package throws. */
export async function loadError(folder, env) {
  const script =
    'try { require("dialcache-native"); console.log("loaded") } catch (error) { console.log(error.message) }';
  return (await succeed(process.execPath, ["-e", script], { cwd: folder, env })).trim();
}
