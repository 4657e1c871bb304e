// Puts packages together in a folder of their own, as they are published, and packs them.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { binaryOf, manifestOf, packageOf, platforms } from "./platforms.mjs";
import { root, SetupError } from "./run.mjs";

function npmPack(folder, ...args) {
  const { status, stdout, stderr } = spawnSync("npm", ["pack", "--json", "--ignore-scripts", ...args], {
    cwd: folder,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new SetupError(`npm pack failed in ${folder}: ${stderr}`);
  const report = JSON.parse(stdout);
  return Array.isArray(report) ? report[0] : Object.values(report)[0];
}

function staged(fill, destination) {
  const folder = mkdtempSync(join(tmpdir(), "dialcache-stage-"));
  try {
    fill(folder);
    mkdirSync(destination, { recursive: true });
    return join(destination, npmPack(folder, "--pack-destination", destination).filename);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const writeManifest = (folder, manifest) =>
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);

/** One version everywhere: a binary is only ever used by the JavaScript it was built with. */
export function checkVersions() {
  const { version } = manifestOf(".");
  const crate = /^version = "(.*)"$/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"))?.[1];
  if (crate !== version) throw new SetupError(`Cargo.toml has version ${crate}, package.json ${version}`);
  for (const platform of platforms) {
    const found = manifestOf(`npm/${platform}`).version;
    if (found !== version) throw new SetupError(`npm/${platform} has version ${found}, package.json ${version}`);
  }
  return version;
}

/**
 * The root's manifest as it is published. The binary packages are its optional dependencies only there: in the checkout,
 * whose addon is built, they would be looked up in the registry by each `npm ci`. Private is the checkout, so that it is
 * not published without them.
 */
export function publishedManifest() {
  const { private: _, scripts: __, devDependencies: ___, napi: ____, ...manifest } = manifestOf(".");
  const binaries = platforms.map((platform) => [packageOf(platform), manifest.version]);
  return { ...manifest, optionalDependencies: Object.fromEntries(binaries) };
}

/** Packs the root; answers the tarball. */
export function packRoot(destination) {
  const { files } = npmPack(root, "--dry-run");
  return staged((folder) => {
    for (const { path } of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      cpSync(join(root, path), join(folder, path));
    }
    writeManifest(folder, publishedManifest());
  }, destination);
}

/** Packs one platform's package around `binary`; answers the tarball. */
export function packPlatform(platform, binary, destination) {
  if (!existsSync(binary)) throw new SetupError(`${platform} is not built: ${binary} is missing`);
  return staged((folder) => {
    cpSync(join(root, "npm", platform), folder, { recursive: true });
    copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
    copyFileSync(binary, join(folder, binaryOf(platform)));
  }, destination);
}
