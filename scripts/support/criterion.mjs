// Runs the criterion benchmarks briefly and reads what they measured.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SetupError, status } from "./run.mjs";

// A tenth of criterion's own defaults: enough for a table, not for telling two versions apart.
const BRIEF = ["--warm-up-time", "0.1", "--measurement-time", "0.4", "--sample-size", "20"];

/** Median nanoseconds by benchmark, in the order of their names. `filter` is a part of a name. */
export function runCriterion({ filter } = {}) {
  const home = mkdtempSync(join(tmpdir(), "dialcache-criterion-"));
  try {
    const args = ["bench", "--no-default-features", "--", ...BRIEF, ...(filter ? [filter] : [])];
    const env = { ...process.env, CRITERION_HOME: home };
    // Its own lines go to stderr: stdout belongs to the table.
    const code = status("cargo", args, { env, stdio: ["ignore", 2, 2] });
    if (code !== 0) throw new SetupError(`cargo ${args.join(" ")} failed (exit code ${code})`);
    return Object.fromEntries(medians(home).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function medians(home) {
  const read = (entry, name) => JSON.parse(readFileSync(join(entry.parentPath ?? entry.path, name), "utf8"));
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name === "benchmark.json" && (entry.parentPath ?? entry.path).endsWith("new"))
    .map((entry) => [read(entry, "benchmark.json").full_id, read(entry, "estimates.json").median.point_estimate]);
}
