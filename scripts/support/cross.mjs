// What a platform's binary is built with: cargo, a linker that knows the platform, and Rust's std for it.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { dependenciesOf, isDebian, knows, unpack } from "./debian.mjs";
import { glibcFloor, triples } from "./platforms.mjs";
import { must, note, root, SetupError, which } from "./run.mjs";

/** `target` outlives `npm ci`. */
export const crossHome = join(root, "target", "cross");
const tools = join(crossHome, "tools");
const debianRust = join(crossHome, "rust");

/** cargo-zigbuild and zig, as Python wheels. */
function ensureZig() {
  const list = new URL("./cross-tools.txt", import.meta.url);
  const wanted = createHash("sha256").update(readFileSync(list)).digest("hex");
  const stamp = join(tools, ".stamp");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  const python = which("python3");
  if (!python) throw new SetupError("python3 with pip is missing: it fetches zig, which links the Linux binaries");
  note("fetching zig and cargo-zigbuild");
  rmSync(tools, { recursive: true, force: true });
  const quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"];
  must(python, [
    "-m",
    "pip",
    "install",
    ...quiet,
    "--target",
    tools,
    "-r",
    join(root, "scripts/support/cross-tools.txt"),
  ]);
  writeFileSync(stamp, wanted);
}

/** Whether the installed toolchain has std for the target: `rustup target add` has brought it, or it is the host's. */
function hasStd(triple) {
  const { status, stdout } = spawnSync("rustc", ["--print", "target-libdir", "--target", triple], { encoding: "utf8" });
  return status === 0 && existsSync(stdout.trim());
}

/**
 * Debian's newest rustc with the sources of its std, from which cargo builds std for any target: for machines that reach
 * Debian's archive and no rustup.
 */
function ensureDebianRust(triple) {
  const without = `Rust's std for ${triple} is missing: run "rustup target add ${triple}"`;
  if (!isDebian() || process.arch !== "x64") throw new SetupError(without);
  const rustc = join(debianRust, "usr", "bin", "rustc");
  if (!existsSync(rustc)) {
    if (!knows("rustc-web")) throw new SetupError(without);
    const std = dependenciesOf("libstd-rust-web-dev", /^libstd-rust-web-\d/);
    const llvm = std.flatMap((name) => dependenciesOf(name, /^libllvm/));
    unpack(["rustc-web", "libstd-rust-web-dev", "rust-web-src", ...std, ...llvm], debianRust);
  }
  return {
    args: ["-Zbuild-std=std,panic_unwind"],
    env: {
      RUSTC: rustc,
      // The flag that builds std is not stable.
      RUSTC_BOOTSTRAP: "1",
      LD_LIBRARY_PATH: join(debianRust, "usr", "lib", "x86_64-linux-gnu"),
    },
  };
}

/** Nothing of the machine's own paths stays in panic messages; musl is linked as Node has it, dynamically. */
function rustFlags(platform) {
  const cargoHome = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  const paths = [
    [cargoHome, "/cargo"],
    [root, "/dialcache-native"],
  ];
  const remaps = paths.map(([from, to]) => `--remap-path-prefix=${from}=${to}`);
  return platform.endsWith("musl") ? [...remaps, "-Ctarget-feature=-crt-static"] : remaps;
}

/** Whether this machine can build the platform's binary. */
export function canBuild(platform) {
  if (platform.startsWith("linux-")) return process.platform === "linux";
  return platform.startsWith(`${process.platform}-`);
}

const libraries = {
  linux: "libdialcache_native.so",
  darwin: "libdialcache_native.dylib",
  win32: "dialcache_native.dll",
};

/** Builds the platform's binary (release); answers where it is. */
export function buildBinary(platform) {
  if (!canBuild(platform)) throw new SetupError(`${platform} is built on ${platform.split("-")[0]} only`);
  const triple = triples[platform];
  const target = join(crossHome, "build");
  const std = hasStd(triple) ? { args: [], env: {} } : ensureDebianRust(triple);
  const env = {
    ...process.env,
    ...std.env,
    CARGO_TARGET_DIR: target,
    CARGO_ENCODED_RUSTFLAGS: rustFlags(platform).join("\x1f"),
  };
  if (process.platform === "linux") {
    ensureZig();
    env.PATH = [join(tools, "bin"), process.env.PATH].join(delimiter);
    env.CARGO_ZIGBUILD_ZIG_PATH = join(tools, "ziglang", "zig");
    const floor = platform.endsWith("gnu") ? `.${glibcFloor}` : "";
    const command = ["zigbuild", "--release", "--lib", "--locked", ...std.args, "--target", `${triple}${floor}`];
    must("cargo", command, { env });
  } else {
    must("cargo", ["build", "--release", "--lib", "--locked", "--target", triple], { env });
  }
  return join(target, triple, "release", libraries[platform.split("-")[0]]);
}
