// What a binary is, read from the file itself.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { glibcFloor } from "./platforms.mjs";
import { root, SetupError, which } from "./run.mjs";

const elf = { 62: "x64", 183: "arm64" };
const machO = { 16777223: "x64", 16777228: "arm64" };
const pe = { 34404: "x64", 43620: "arm64" };

/** The platform whose binary the bytes are, or undefined. */
export function platformOf(bytes) {
  if (bytes.length < 64) return undefined;
  if (bytes.readUInt32BE(0) === 0x7f454c46) {
    const arch = elf[bytes.readUInt16LE(18)];
    // The C library is in the names of needed libraries: libc.so.6 is glibc's, libc.so musl's.
    return arch && `linux-${arch}-${bytes.includes("\0libc.so.6\0") ? "gnu" : "musl"}`;
  }
  if (bytes.readUInt32LE(0) === 0xfeedfacf) {
    const arch = machO[bytes.readUInt32LE(4)];
    return arch && `darwin-${arch}`;
  }
  if (bytes.readUInt16BE(0) === 0x4d5a) {
    const header = bytes.readUInt32LE(0x3c);
    const arch = header + 6 <= bytes.length && pe[bytes.readUInt16LE(header + 4)];
    return arch ? `win32-${arch}-msvc` : undefined;
  }
  return undefined;
}

const allowedLibraries = {
  gnu: /^(?:libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1|ld-linux-[a-z0-9-]+\.so\.\d)$/,
  musl: /^libc\.so$/,
};

function readelf(file, ...args) {
  const { status, stdout } = spawnSync("readelf", ["-W", ...args, file], { encoding: "utf8", maxBuffer: 2 ** 26 });
  if (status !== 0) throw new SetupError(`readelf cannot read ${file}`);
  return stdout;
}

const versionParts = (version) => version.split(".").map(Number);
const isNewer = ([major, minor], [floorMajor, floorMinor]) =>
  major > floorMajor || (major === floorMajor && minor > floorMinor);

/** The newest glibc version that the file's symbols ask for. */
export function glibcOf(file) {
  const versions = [...readelf(file, "--version-info").matchAll(/GLIBC_(\d+\.\d+)/g)].map(([, version]) => version);
  const newest = (a, b) => (isNewer(versionParts(b), versionParts(a)) ? b : a);
  return versions.reduce(newest, "0.0");
}

/** Throws unless the file is the platform's binary, as it may be published; answers a line about it. */
export function checkBinary(file, platform) {
  const bytes = readFileSync(file);
  const found = platformOf(bytes);
  if (found !== platform) throw new SetupError(`${file} is a binary of ${found ?? "no platform"}, not of ${platform}`);
  for (const path of [root, homedir()].filter((path) => path.length > 1)) {
    if (bytes.includes(`${path}/`)) throw new SetupError(`${file} holds a path of this machine: ${path}/`);
  }
  if (!bytes.includes("napi_register_module_v1")) throw new SetupError(`${file} is no Node-API module`);
  const size = `${(bytes.length / 2 ** 20).toFixed(1)} MiB`;
  if (!platform.startsWith("linux-")) return size;
  if (!which("readelf")) throw new SetupError("readelf is missing: install binutils");
  const libc = platform.split("-")[2];
  const needed = [...readelf(file, "--dynamic").matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name);
  const unknown = needed.filter((name) => !allowedLibraries[libc].test(name));
  if (unknown.length > 0) throw new SetupError(`${file} needs ${unknown.join(", ")}`);
  if (libc === "musl") return `${size}, needs ${needed.join(", ")}`;
  const glibc = glibcOf(file);
  if (isNewer(versionParts(glibc), versionParts(glibcFloor))) {
    throw new SetupError(`${file} needs glibc ${glibc}, which is newer than ${glibcFloor}`);
  }
  return `${size}, glibc ${glibc} or later`;
}
