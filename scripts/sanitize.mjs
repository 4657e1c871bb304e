// Runs the binding's tests on an addon that is built under AddressSanitizer: src/binding has unsafe code, zstd and ring are
// C. Linux with gcc, whose runtime is preloaded into Node. See docs/reliability.md.
//
//   npm run sanitize [-- [test files...]]     (default: the folders named below)
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ensure } from "./ensure.mjs";
import { addonFile } from "./support/platform.mjs";
import { main, must, note, root, SetupError, status } from "./support/run.mjs";

const platform = "x86_64-unknown-linux-gnu";
const addon = join(root, "target/asan/dialcache-native.node");
const reports = join(root, "target/asan/reports");

/** Tests whose calls go through the addon. The demo's and the types' say nothing about it. */
const usual = ["behaviour", "field-notes", "matrix", "sources", "adapters", "metrics"].map(
  (name) => `__test__/${name}/`,
);

/** The test that takes the memory away, which the runtime's own bookkeeping does not survive. */
const except = "^(?!.*a payload is written as it is, with an error and a warning)";

function build() {
  note("building the addon under AddressSanitizer");
  const env = {
    ...process.env,
    // Sanitizers are a flag of nightly compilers; what they generate is the stable one's.
    RUSTC_BOOTSTRAP: "1",
    RUSTFLAGS: "-Zsanitizer=address -Copt-level=1",
    CFLAGS: "-fsanitize=address -fno-omit-frame-pointer",
  };
  must("cargo", ["build", "--lib", "--quiet", "--locked", "--target", platform, "--target-dir", "target/asan"], {
    env,
  });
  copyFileSync(join(root, "target/asan", platform, "debug/libdialcache_native.so"), addon);
}

function test(files) {
  const runtime = execFileSync("gcc", ["-print-file-name=libasan.so"], { encoding: "utf8" }).trim();
  if (!runtime.includes("/")) throw new SetupError("gcc has no libasan: install it (Debian: libasan8)");
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  const env = {
    ...process.env,
    LD_PRELOAD: runtime,
    // V8 and Node's own test of a crashing child handle signals themselves. Leaks are what is left when a process ends,
    // and Node leaves its heap: those with the addon in their stack are counted below.
    ASAN_OPTIONS: [
      `log_path=${join(reports, "asan")}`,
      "detect_leaks=1",
      "exitcode=0",
      "allow_user_segv_handler=1",
      "detect_odr_violation=0",
      "fast_unwind_on_malloc=1",
      "malloc_context_size=30",
    ].join(":"),
    LSAN_OPTIONS: "max_leaks=0:report_objects=0",
  };
  // In the other one's place: the tests' child processes and workers are to load it too. napi's variable for this would
  // be heeded by every addon of the test runner.
  const place = join(root, addonFile());
  const kept = join(root, "target/asan/kept.node");
  copyFileSync(place, kept);
  copyFileSync(addon, place);
  try {
    return status(
      process.execPath,
      ["node_modules/vitest/vitest.mjs", "run", "--project", "all", "-t", except, ...files],
      { env },
    );
  } finally {
    copyFileSync(kept, place);
  }
}

/**
 * napi-rs frees no call that is still queued when its environment ends: 24 bytes, of which an environment has two at most,
 * since it is not woken again before it has looked.
 */
const known = "call_threadsafe_function_with_data";

/** Errors, and leaks of what the addon allocated, as their reports' first lines. */
function findings() {
  return readdirSync(reports).flatMap((file) => {
    const text = readFileSync(join(reports, file), "utf8");
    const errors = text.split("\n").filter((line) => /ERROR: AddressSanitizer/.test(line));
    const leaks = text
      .split("\n\n")
      .filter(
        (block) => /(?:Direct|Indirect) leak of/.test(block) && block.includes(addonFile()) && !block.includes(known),
      )
      .map((block) => block.trim().split("\n").slice(0, 12).join("\n"));
    return [...errors, ...leaks].map((finding) => `${file}: ${finding}`);
  });
}

await main(() => {
  ensure(["modules", "redis", "addon", "dist"]);
  const files = process.argv.slice(2);
  build();
  const code = test(files.length > 0 ? files : usual);
  const found = findings();
  for (const finding of found) process.stderr.write(`${finding}\n\n`);
  note(`${readdirSync(reports).length} reports, ${found.length} findings in the addon`);
  if (found.length > 0) throw new SetupError("AddressSanitizer found something: see target/asan/reports");
  if (code !== 0) throw new SetupError(`tests failed (exit code ${code})`);
});
