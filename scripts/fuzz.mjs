// Fuzzes what reads foreign bytes: fuzz/. Stable Rust and a C++ compiler are enough.
//
//   npm run fuzz [-- [--seconds N] [--core] [--grow] [target...]]
//
// Each target starts from its committed corpus and runs for its share of N seconds (60). --core leaves out the targets
// that need the Redis side, whose dependencies take a minute to build. New inputs stay in target/fuzz/corpus; --grow
// merges those that reach new code into fuzz/corpus. A finding is in target/fuzz/findings, and fails the run.
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureCxx } from "./support/compiler.mjs";
import { main, must, note, root, SetupError, status } from "./support/run.mjs";

const coreTargets = ["frame", "envelope", "key"];
const targets = [...coreTargets, "reply", "url"];
const platform = "x86_64-unknown-linux-gnu";

/** Longest input: longer ones find nothing that shorter ones do not. */
const MAX_BYTES = 4_096;

// As `cargo fuzz build --sanitizer none` has them. A platform must be named, or build scripts are instrumented too.
const RUSTFLAGS = [
  "-Cpasses=sancov-module",
  "-Cllvm-args=-sanitizer-coverage-level=4",
  "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
  "-Cllvm-args=-sanitizer-coverage-pc-table",
  "-Cllvm-args=-sanitizer-coverage-trace-compares",
  "-Cdebug-assertions",
  "-Ccodegen-units=1",
  "--cfg=fuzzing",
].join(" ");

function build(names) {
  const isCore = names.every((name) => coreTargets.includes(name));
  const features = isCore ? ["--no-default-features"] : [];
  const bins = names.flatMap((name) => ["--bin", name]);
  const place = ["--manifest-path", "fuzz/Cargo.toml", "--target", platform, "--target-dir", "target/fuzz"];
  const env = { ...process.env, RUSTFLAGS };
  must("cargo", ["build", "--release", "--quiet", "--locked", ...place, ...features, ...bins], { env });
}

function folder(...path) {
  const full = join(root, ...path);
  mkdirSync(full, { recursive: true });
  return full;
}

function fuzz(name, seconds, grow) {
  const program = join(root, "target/fuzz", platform, "release", name);
  const [found, findings] = [folder("target/fuzz/corpus", name), folder("target/fuzz/findings", name)];
  const committed = folder("fuzz/corpus", name);
  note(`fuzzing ${name} for ${seconds} s from ${readdirSync(committed).length} inputs`);
  const limits = [`-max_len=${MAX_BYTES}`, "-timeout=30", "-rss_limit_mb=2048", `-artifact_prefix=${findings}/`];
  const log = join(root, "target/fuzz", `${name}.log`);
  const output = openSync(log, "w");
  const args = [found, committed, `-max_total_time=${seconds}`, "-print_final_stats=1", ...limits];
  const code = status(program, args, { stdio: ["ignore", output, output] });
  closeSync(output);
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  const figure = (title) => lines.find((line) => line.startsWith(`stat::${title}:`))?.split(/\s+/)[1];
  const coverage = lines.findLast((line) => / cov: /.test(line))?.match(/cov: \d+/)?.[0];
  const [count, rate] = [figure("number_of_executed_units"), figure("average_exec_per_sec")];
  if (code === 0) process.stdout.write(`${name}: ${count} executions, ${rate} per second, ${coverage}, no finding\n`);
  else process.stdout.write(`${name}: exit code ${code}\n${lines.slice(-30).join("\n")}\n`);
  if (code === 0 && grow) must(program, ["-set_cover_merge=1", "-use_counters=0", ...limits, committed, found]);
  return code === 0;
}

await main(() => {
  const options = { seconds: { type: "string", default: "60" }, core: { type: "boolean" }, grow: { type: "boolean" } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const unknown = positionals.find((name) => !targets.includes(name));
  if (unknown) throw new SetupError(`unknown target ${unknown}: use ${targets.join(", ")}`);
  if (!/^[1-9]\d*$/.test(values.seconds)) throw new SetupError("--seconds: use a whole number above 0");
  const names = positionals.length > 0 ? positionals : values.core ? coreTargets : targets;
  ensureCxx();
  build(names);
  const share = Math.max(1, Math.floor(Number(values.seconds) / names.length));
  const failed = names.filter((name) => !fuzz(name, share, values.grow));
  if (failed.length > 0) throw new SetupError(`findings in ${failed.join(", ")}: see target/fuzz/findings`);
});
