// Builds the addon and the JavaScript in the checkout.
//
//   node scripts/build.mjs [--force]
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { emitEntries, entries } from "./emit-entries.mjs";
import { addonFile, platformName } from "./support/platform.mjs";
import { isMain, main, note, npmTool, root } from "./support/run.mjs";
import { fingerprint, whenChanged } from "./support/stamp.mjs";

/** The release build of the Rust side, with the loader and the types that the napi CLI generates beside it. */
export function buildAddon({ force = false } = {}) {
  const { napi } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const sources = ["src", "Cargo.toml", "Cargo.lock", "build.rs", ".cargo", "rust-toolchain.toml", "scripts/build.mjs"];
  const print = fingerprint(sources, JSON.stringify([napi, platformName()]));
  const addon = addonFile();
  whenChanged("addon", { print, force, outputs: [addon, "binding.js", "binding.d.ts"] }, () => {
    note("building the addon (release)");
    const files = ["--js", "binding.js", "--dts", "binding.d.ts"];
    // Constant enums cannot be imported by a compiler that looks at one file at a time.
    const args = ["build", "--platform", "--release", "--no-const-enum", ...files];
    npmTool("@napi-rs/cli/dist/cli.js", args);
  });
}

/** Compiles lib/ to CommonJS in dist/ and writes the ES module entries beside it. */
export function buildDist({ force = false } = {}) {
  const sources = ["lib", "tsconfig.json", "tsconfig.build.json", "binding.d.ts", "package.json", "scripts"];
  const print = fingerprint(sources);
  const outputs = entries().flatMap(({ cjs, mjs, dmts }) => [cjs, mjs, dmts]);
  whenChanged("dist", { print, force, outputs }, () => {
    note("compiling TypeScript");
    rmSync(join(root, "dist"), { recursive: true, force: true });
    npmTool("typescript/bin/tsc", ["-p", "tsconfig.build.json"]);
    emitEntries();
  });
}

if (isMain(import.meta.url)) {
  await main(() => {
    const force = process.argv.includes("--force");
    buildAddon({ force });
    buildDist({ force });
  });
}
