import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const lib = (name: string) => fileURLToPath(new URL(`./lib/${name}.ts`, import.meta.url));

/** The servers that `npm test` has fetched beside the installed one. */
function fetchedServers(): { name: string; binary: string }[] {
  const list = fileURLToPath(new URL("./target/servers/servers.json", import.meta.url));
  return existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : [];
}

/** The required validation matrix, once more against another server. */
function matrixOn(name: string, env: Record<string, string>) {
  return { extends: true as const, test: { name, include: ["__test__/matrix/**/*.test.ts"], env } };
}

export default defineConfig({
  resolve: {
    alias: [
      { find: /^dialcache-native$/, replacement: lib("index") },
      { find: /^dialcache-native\/(datadog|opentelemetry|prometheus)$/, replacement: lib("metrics/$1") },
      { find: /^dialcache-native\/(redis-protocol|testing)$/, replacement: lib("$1") },
      { find: /^dialcache-native\/(ioredis|node-redis|valkey-glide)$/, replacement: lib("adapters/$1") },
    ],
  },
  test: {
    exclude: ["**/node_modules/**", "__test__/package/**"],
    environment: "node",
    // The addon, its I/O thread and signal handling belong to a process; a worker thread would share them.
    pool: "forks",
    // Files start Redis servers and freeze processes: side by side they starve each other on two cores.
    fileParallelism: false,
    // Timeouts only end a hung test; no test may depend on how fast it runs.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    restoreMocks: true,
    typecheck: { enabled: false },
    projects: [
      { extends: true, test: { name: "all", include: ["__test__/**/*.test.ts"] } },
      ...fetchedServers().map(({ name, binary }) => matrixOn(name, { REDIS_SERVER: binary })),
      matrixOn("cluster", { REDIS_CLUSTER: "yes" }),
    ],
  },
});
