// Finds a Redis server, or installs one with the system's package manager when that is allowed.
import { accessSync, constants } from "node:fs";
import { must, note, SetupError, which } from "./run.mjs";

const managers = [
  {
    tool: "apt-get",
    update: ["update", "-qq"],
    install: ["install", "-y", "-qq", "--no-install-recommends", "redis-server"],
  },
  { tool: "dnf", install: ["install", "-y", "-q", "redis"] },
  { tool: "apk", install: ["add", "--no-progress", "redis"] },
  { tool: "pacman", install: ["-Sy", "--noconfirm", "redis"] },
];

function configured() {
  const path = process.env.REDIS_SERVER;
  if (!path) return undefined;
  const found = which(path) ?? path;
  try {
    accessSync(found, constants.X_OK);
    return found;
  } catch {
    throw new SetupError(`REDIS_SERVER names ${path}, which cannot be run`);
  }
}

/** The redis-server binary to use: `REDIS_SERVER`, or the one on PATH; installs it when run as root. */
export function ensureRedis() {
  const found = configured() ?? which("redis-server");
  if (found) return found;

  const manager = managers.find(({ tool }) => which(tool));
  const isRoot = process.getuid?.() === 0;
  if (!manager || !isRoot) {
    const command = manager ? `sudo ${manager.tool} ${manager.install.join(" ")}` : "for example: brew install redis";
    throw new SetupError(`redis-server is missing: install it (${command}) or set REDIS_SERVER to its path`);
  }
  note(`installing redis-server with ${manager.tool}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  if (manager.update) must(manager.tool, manager.update, { env });
  must(manager.tool, manager.install, { env });
  const installed = which("redis-server");
  if (!installed) throw new SetupError(`${manager.tool} installed no redis-server: set REDIS_SERVER to its path`);
  return installed;
}
