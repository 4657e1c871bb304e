// The platforms that have a binary package, one folder each below npm/.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

/** What Rust calls them; the order is that of the documents. */
export const triples = {
  "linux-x64-gnu": "x86_64-unknown-linux-gnu",
  "linux-arm64-gnu": "aarch64-unknown-linux-gnu",
  "linux-x64-musl": "x86_64-unknown-linux-musl",
  "linux-arm64-musl": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
  "win32-x64-msvc": "x86_64-pc-windows-msvc",
  "win32-arm64-msvc": "aarch64-pc-windows-msvc",
};

export const platforms = Object.keys(triples);

/** The oldest glibc that the binaries run with: what Rust's own std asks for. */
export const glibcFloor = "2.17";

export const packageOf = (platform) => `dialcache-native-${platform}`;
export const binaryOf = (platform) => `dialcache-native.${platform}.node`;

/** Where the release build of a platform is kept. */
export const builtBinary = (platform) => join(root, "target", "platforms", binaryOf(platform));

export const manifestOf = (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
