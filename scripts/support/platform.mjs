// Names the prebuilt binary of the machine this runs on, the way the generated loader does.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

function libc() {
  return process.report.getReport().header.glibcVersionRuntime ? "gnu" : "musl";
}

/** For example `linux-x64-gnu`. */
export function platformName() {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === "linux") return `${base}-${libc()}`;
  return process.platform === "win32" ? `${base}-msvc` : base;
}

/** For example `dialcache-native.linux-x64-gnu.node`. */
export function addonFile() {
  const { napi } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return `${napi.binaryName}.${platformName()}.node`;
}
