// Packs the package and binary packages as they are published.
//
//   node scripts/pack.mjs [folder]                the root and the checkout's own addon (default folder: ./packages)
//   node scripts/pack.mjs --built [folder]        the root and every platform that scripts/build-platforms has built
//   node scripts/pack.mjs --platforms [folder]    those platforms alone, as the release's build jobs do
//   node scripts/pack.mjs --root [folder]         the root alone
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ensure } from "./ensure.mjs";
import { checkVersions, packPlatform, packRoot } from "./support/pack.mjs";
import { addonFile, platformName } from "./support/platform.mjs";
import { builtBinary, platforms } from "./support/platforms.mjs";
import { isMain, main, root, SetupError } from "./support/run.mjs";

/** Packs the root and the checkout's addon, building what is out of date; answers the two tarballs' paths. */
export function packAll(folder = "packages") {
  ensure(["modules", "addon", "dist"]);
  checkVersions();
  const destination = resolve(root, folder);
  const platform = platformName();
  if (!platforms.includes(platform)) throw new SetupError(`there is no binary package for ${platform}`);
  return { main: packRoot(destination), platform: packPlatform(platform, join(root, addonFile()), destination) };
}

/** Packs what scripts/build-platforms has built; answers the tarballs by platform, and the root's as `main`. */
export function packBuilt(folder = "packages", { withRoot = true, withPlatforms = true } = {}) {
  const destination = resolve(root, folder);
  checkVersions();
  const built = withPlatforms ? platforms.filter((platform) => existsSync(builtBinary(platform))) : [];
  if (withPlatforms && built.length === 0) throw new SetupError("no platform is built: run scripts/build-platforms");
  const tarballs = built.map((platform) => [platform, packPlatform(platform, builtBinary(platform), destination)]);
  if (!withRoot) return Object.fromEntries(tarballs);
  ensure(["modules", "addon", "dist"]);
  return { ...Object.fromEntries(tarballs), main: packRoot(destination) };
}

const ways = {
  "--built": (folder) => packBuilt(folder),
  "--platforms": (folder) => packBuilt(folder, { withRoot: false }),
  "--root": (folder) => packBuilt(folder, { withPlatforms: false }),
};

if (isMain(import.meta.url)) {
  await main(() => {
    const [first, second] = process.argv.slice(2);
    if (first?.startsWith("--") && !Object.hasOwn(ways, first)) {
      throw new SetupError(`unknown option ${first}: use ${Object.keys(ways).join(", ")}`);
    }
    const tarballs = first?.startsWith("--") ? ways[first](second) : packAll(first);
    for (const tarball of Object.values(tarballs)) process.stdout.write(`${tarball}\n`);
  });
}
