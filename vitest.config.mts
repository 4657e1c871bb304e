import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const lib = (name: string) => fileURLToPath(new URL(`./lib/${name}.ts`, import.meta.url));

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
    include: ["__test__/**/*.test.ts"],
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
  },
});
