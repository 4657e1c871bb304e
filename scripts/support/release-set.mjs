// What a release consists of: the root and the binary package of every platform, all of one version.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { platformOf } from "./binary.mjs";
import { publishedManifest } from "./pack.mjs";
import { binaryOf, manifestOf, packageOf, platforms } from "./platforms.mjs";
import { fileOf, manifestOfTarball } from "./registry.mjs";
import { SetupError } from "./run.mjs";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function checkPlatform(tarball, platform) {
  if (!same(manifestOfTarball(tarball), manifestOf(`npm/${platform}`))) {
    return [`the manifest of ${packageOf(platform)} is not npm/${platform}/package.json`];
  }
  const binary = fileOf(tarball, binaryOf(platform));
  const found = platformOf(binary);
  const problems = [];
  if (found !== platform) problems.push(`the binary of ${packageOf(platform)} is one of ${found ?? "no platform"}`);
  else if (!binary.includes(manifestOf(".").version))
    problems.push(`the binary of ${packageOf(platform)} is of another version`);
  return problems;
}

/**
 * The tarballs in `folder` in the order of their publication: binaries first, so that the root never asks for what is not
 * there yet. Throws when one is missing, left over or not what it should be. `wanted` are the platforms to be there.
 */
export function releaseSet(folder, wanted = platforms) {
  const { version } = manifestOf(".");
  const expected = [...wanted.map(packageOf), "dialcache-native"].map((name) => `${name}-${version}.tgz`);
  const present = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  const problems = [
    ...expected.filter((name) => !present.includes(name)).map((name) => `${name} is missing`),
    ...present.filter((name) => !expected.includes(name)).map((name) => `${name} does not belong there`),
  ];
  if (problems.length === 0) {
    for (const platform of wanted) {
      problems.push(...checkPlatform(join(folder, `${packageOf(platform)}-${version}.tgz`), platform));
    }
    const root = manifestOfTarball(join(folder, expected.at(-1)));
    if (!same(root, JSON.parse(JSON.stringify(publishedManifest()))))
      problems.push("the manifest of the root is not this checkout's");
  }
  if (problems.length > 0) throw new SetupError(`the release is not complete: ${problems.join("; ")}`);
  return expected.map((name) => join(folder, name));
}

/** Writes SHA256SUMS beside the tarballs, as sha256sum --check reads it. */
export function writeSums(folder, tarballs) {
  const lines = tarballs.map((tarball) => {
    const sum = createHash("sha256").update(readFileSync(tarball)).digest("hex");
    return `${sum}  ${basename(tarball)}\n`;
  });
  writeFileSync(join(folder, "SHA256SUMS"), lines.join(""));
}
