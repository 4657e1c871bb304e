// Runs the criterion benchmarks briefly and reads what they measured.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SetupError, status } from "./run.mjs";

// A tenth of criterion's own defaults: enough for a table, not for telling two versions apart.
const BRIEF = ["--warm-up-time", "0.1", "--measurement-time", "0.4", "--sample-size", "20"];

/** Nanoseconds by benchmark, in the order of their names: `{ median, min, max }` of the samples. `filter` is a part of a name. */
export function runCriterion({ filter } = {}) {
  const home = mkdtempSync(join(tmpdir(), "dialcache-criterion-"));
  try {
    const args = ["bench", "--no-default-features", "--", ...BRIEF, ...(filter ? [filter] : [])];
    const env = { ...process.env, CRITERION_HOME: home };
    // Its own lines go to stderr: stdout belongs to the table.
    const code = status("cargo", args, { env, stdio: ["ignore", 2, 2] });
    if (code !== 0) throw new SetupError(`cargo ${args.join(" ")} failed (exit code ${code})`);
    return Object.fromEntries(figures(home).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function figures(home) {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name === "benchmark.json" && (entry.parentPath ?? entry.path).endsWith("new"))
    .map((entry) => {
      const read = (name) => JSON.parse(readFileSync(join(entry.parentPath ?? entry.path, name), "utf8"));
      const { iters, times } = read("sample.json");
      const samples = times.map((ns, sample) => ns / iters[sample]);
      const { median } = read("estimates.json");
      return [
        read("benchmark.json").full_id,
        { median: median.point_estimate, min: Math.min(...samples), max: Math.max(...samples) },
      ];
    });
}
