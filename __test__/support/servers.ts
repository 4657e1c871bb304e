import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A server that tests are run against. */
export interface ServerVersion {
  /** Such as "Redis 8.2". */
  readonly name: string;
  readonly binary: string;
  /** Such as `[8, 2]`. */
  readonly version: readonly [major: number, minor: number];
}

const list = fileURLToPath(new URL("../../target/servers/servers.json", import.meta.url));

const { REDIS_SERVER: configured } = process.env;

/** The installed redis-server, and the versions that `npm test` fetches beside it. */
export const SERVERS: readonly ServerVersion[] = [
  { name: "", binary: configured || "redis-server" },
  ...(existsSync(list) ? (JSON.parse(readFileSync(list, "utf8")) as { name: string; binary: string }[]) : []),
].map(({ binary }) => identify(binary));

/** The one that tests use which are about a client and not about a server. */
export const INSTALLED = SERVERS[0] as ServerVersion;

function identify(binary: string): ServerVersion {
  const text = execFileSync(binary, ["--version"], { encoding: "utf8" });
  const [, product, major, minor] = /^(Redis|Valkey) server v=(\d+)\.(\d+)/.exec(text) ?? [];
  if (product === undefined) throw new Error(`${binary} is neither Redis nor Valkey: ${text}`);
  return { name: `${product} ${major}.${minor}`, binary, version: [Number(major), Number(minor)] };
}
