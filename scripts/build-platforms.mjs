// Builds the binaries of every platform that this machine can build, checks them, and runs those that run here.
//
//   scripts/build-platforms [--no-run] [platform...]     for example linux-arm64-musl; default: all that can be built here
//
// A binary lands in target/platforms; node scripts/pack.mjs --built makes packages of them.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { ensure } from "./ensure.mjs";
import { checkBinary } from "./support/binary.mjs";
import { buildBinary, canBuild } from "./support/cross.mjs";
import { packPlatform, packRoot } from "./support/pack.mjs";
import { runPackages } from "./support/platform-run.mjs";
import { runtimeOf, wayOf } from "./support/platform-runtime.mjs";
import { builtBinary, platforms } from "./support/platforms.mjs";
import { isMain, main, note, root, SetupError } from "./support/run.mjs";
import { fingerprint, whenChanged } from "./support/stamp.mjs";

const sources = [
  "src",
  "Cargo.toml",
  "Cargo.lock",
  "build.rs",
  "scripts/support/cross.mjs",
  "scripts/support/cross-tools.txt",
];

function build(platform) {
  const output = builtBinary(platform);
  const print = fingerprint(sources, platform);
  whenChanged(`platform ${platform}`, { print, outputs: [relative(root, output)] }, () => {
    note(`building ${platform}`);
    const binary = buildBinary(platform);
    mkdirSync(dirname(output), { recursive: true });
    copyFileSync(binary, output);
  });
  return checkBinary(output, platform);
}

/** Packs and runs those that have a Node here; answers what ran by platform. */
async function runPlatforms(names) {
  const found = names.map((platform) => [platform, runtimeOf(platform)]).filter(([, runtime]) => runtime);
  const runtimes = Object.fromEntries(found);
  ensure(["modules", "redis", "addon", "dist"]);
  const scratch = mkdtempSync(join(tmpdir(), "dialcache-packed-"));
  try {
    const packed = Object.keys(runtimes).map((platform) => packPlatform(platform, builtBinary(platform), scratch));
    note(`running ${Object.keys(runtimes).join(", ")}`);
    const results = await runPackages([packRoot(scratch), ...packed], runtimes);
    return Object.fromEntries(Object.entries(results).map(([name, what]) => [name, `${what} ${wayOf(name)}`]));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Builds, checks and runs; answers a line for each platform. */
export async function buildPlatforms(names, { withRuns = true } = {}) {
  const built = names.map((platform) => [platform, build(platform)]);
  const runs = withRuns ? await runPlatforms(names) : {};
  return built.map(([platform, facts]) => `${platform}: ${facts}; ${runs[platform] ?? "not run"}`);
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const args = process.argv.slice(2);
    const names = args.filter((name) => name !== "--no-run");
    const unknown = names.find((name) => !platforms.includes(name));
    if (unknown) throw new SetupError(`unknown platform ${unknown}: use ${platforms.join(", ")}`);
    const wanted = names.length > 0 ? names : platforms.filter(canBuild);
    const lines = await buildPlatforms(wanted, { withRuns: !args.includes("--no-run") });
    for (const line of lines) process.stdout.write(`${line}\n`);
    const elsewhere = platforms.filter((platform) => !canBuild(platform));
    process.stdout.write(`built by the release workflow: ${elsewhere.join(", ")}\n`);
  });
}
