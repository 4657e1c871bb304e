// What a million entries take, with and without their values, and what a pending read does. Each figure is of a process of its own.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { figure } from "./support/figures.mjs";
import { workload } from "./support/workload.mjs";

const ENTRIES = 1_000_000;
const PENDING = 100_000;
const ROUNDS = 3;
const script = fileURLToPath(new URL("./support/memory-process.mjs", import.meta.url));

function measured(task, contender, count) {
  const args = ["--expose-gc", "--max-old-space-size=4096", script, task, contender, String(count)];
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`${task} of ${contender} failed`);
  const found = JSON.parse(stdout.trim().split("\n").at(-1));
  return { ...found, outside: found.bytes - found.javascript };
}

/** Contenders in turn; figures by contender and kind. */
function inTurn(task, contenders, count, rounds) {
  const found = new Map(contenders.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of contenders) found.get(name).push(measured(task, name, count));
  }
  return (name, kind, scale = 1) => figure(found.get(name).map((one) => one[kind] / scale));
}

await workload("memory", async (report) => {
  const caches = ["dialcache-native", "lru-cache", "Map"];
  const beyond = inTurn("entries", caches, ENTRIES, ROUNDS);
  report.table(
    "1,000,000 entries with one value for all of them: what is there beyond the values",
    ["", "bytes an entry", "JavaScript's", "the rest: an index outside"],
    caches.map((name) => [name, beyond(name, "bytes"), beyond(name, "javascript"), beyond(name, "outside")]),
  );
  report.note(
    "JavaScript's part of an entry is what holds the value: a settled promise in its slot here, the key and its place in a table elsewhere. " +
      "The budget speaks of the index's memory beyond the values: both readings of it are in the table of budgets.",
  );
  report.measure("entry-bytes", beyond("dialcache-native", "bytes"));
  report.measure("entry-index-bytes", beyond("dialcache-native", "outside"));
  report.plot({
    name: "memory",
    kind: "contenders",
    title: "1,000,000 entries: memory beyond the values",
    x: { title: "bytes an entry" },
    points: caches.map((name) => ({ name, ...beyond(name, "bytes") })),
  });
  const values = inTurn("values", caches, ENTRIES, 1);
  report.table(
    "1,000,000 entries with a value of about 500 B each; then reads, one in ten of a new key",
    ["", "MB of RSS", "longest GC ms", "main thread, ns a call"],
    caches.map((name) => [
      name,
      values(name, "bytes", (1 << 20) / ENTRIES).median,
      values(name, "longestGcMs").median,
      values(name, "mixedNs").median,
    ]),
  );
  const clients = ["dialcache-native", "node-redis 5 GET"];
  const pending = inTurn("pending", clients, PENDING, ROUNDS);
  report.table(
    `${PENDING.toLocaleString("en-US")} reads that a frozen Redis does not answer`,
    ["", "bytes a read", "JavaScript's", "the rest"],
    clients.map((name) => [name, pending(name, "bytes"), pending(name, "javascript"), pending(name, "outside")]),
  );
  report.note("All of RSS is counted: the callers' promises, too, and what the allocators keep for later.");
});
