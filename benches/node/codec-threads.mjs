// 64 KB JSON values, compressed: on which thread zstd runs, and what is left for the event loop's.
import { createRequire } from "node:module";
import { dialcacheRedis } from "./support/caches.mjs";
import { compare } from "./support/compare.mjs";
import { inFlight } from "./support/in-flight.mjs";
import { usual } from "./support/quick.mjs";
import { startRedis } from "./support/redis.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, workload } from "./support/workload.mjs";

const { codecRunsHere } = createRequire(import.meta.url)("../../binding.js");
const BYTES = 64 << 10;
const KEYS = 64;
const WIDTH = 16;
const TEXT = JSON.stringify(record(BYTES));

await workload("64 KB of JSON, compressed", async (report) => {
  const server = await startRedis();
  const kinds = { "dialcache-native, zstd": { level: 3 }, "dialcache-native, not compressed": false };
  const before = codecRunsHere();
  const contenders = [];
  const closers = [];
  for (const [name, compression] of Object.entries(kinds)) {
    // Parsed once for each call, as what a source gets is; no two values are one object.
    const { cache, get, close } = await dialcacheRedis(async () => JSON.parse(TEXT), {
      url: server.url,
      compression,
      namespace: compression === false ? "raw" : "zstd",
    });
    let written = 0;
    const write = (ops) =>
      cache.enable(async () => {
        await inFlight(WIDTH, ops, () => get(`new:${written++ % 4_096}:${written}`));
        await cache.drain();
      });
    const read = (ops) => cache.enable(() => inFlight(WIDTH, ops, (op) => get(`user:${op % KEYS}`)));
    await read(KEYS);
    await cache.drain();
    contenders.push(
      { name: `${name}: a read`, run: read },
      { name: `${name}: a write`, run: write, ops: usual(500, 100) },
    );
    closers.push(close);
  }
  contenders.push({
    name: "JSON.parse alone",
    run: async (ops) => {
      for (let op = 0; op < ops; op++) JSON.parse(TEXT);
    },
  });
  const results = await compare(contenders, { rounds: 5 });
  comparisonTable(report, "64 KB of JSON: one call", results, "µs", "codec-threads");
  report.note(
    "A write is a miss, the source, whose text is parsed, and the dump: the compressor has the text on another thread.",
  );
  report.measure("zstd-on-loop", codecRunsHere() - before);
  for (const close of closers) await close();
});
