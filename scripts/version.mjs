// Sets the version everywhere: root, binary packages, crate and both lock files.
//
//   npm run version:set -- 0.2.0-rc.1
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isMain, main, root, SetupError } from "./support/run.mjs";

// https://semver.org, without build metadata: registries ignore it.
const semver =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[a-z-][\da-z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-z-][\da-z-]*))*)?$/i;

function edit(path, change) {
  const before = readFileSync(path, "utf8");
  const after = change(before);
  if (after === undefined) throw new SetupError(`${path} has no version where it is expected`);
  return [path, after];
}

const inJson = (change) => (text) => `${JSON.stringify(change(JSON.parse(text)), null, 2)}\n`;

function inToml(pattern, version) {
  return (text) => (pattern.test(text) ? text.replace(pattern, `$1"${version}"`) : undefined);
}

/** Sets it in all files of the checkout at `folder`, or in none. */
export function setVersion(version, folder = root) {
  if (!semver.test(version)) throw new SetupError(`"${version}" is not a semantic version such as 1.2.3 or 1.2.3-rc.1`);
  const at = (...path) => join(folder, ...path);
  const platforms = readdirSync(at("npm")).filter((name) => existsSync(at("npm", name, "package.json")));
  const edits = [
    ...["package.json", ...platforms.map((name) => join("npm", name, "package.json"))].map((path) =>
      edit(
        at(path),
        inJson((manifest) => ({ ...manifest, version })),
      ),
    ),
    edit(
      at("package-lock.json"),
      inJson((lock) => ({ ...lock, version, packages: { ...lock.packages, "": { ...lock.packages[""], version } } })),
    ),
    edit(at("Cargo.toml"), inToml(/^(version = )"[^"]*"$/m, version)),
    edit(at("Cargo.lock"), inToml(/^(name = "dialcache-native"\nversion = )"[^"]*"$/m, version)),
  ];
  for (const [path, text] of edits) writeFileSync(path, text);
  return edits.map(([path]) => path);
}

if (isMain(import.meta.url)) {
  await main(() => {
    const [version, folder] = process.argv.slice(2);
    const paths = setVersion(version ?? "", folder && resolve(folder));
    process.stdout.write(`${paths.length} files are at ${version}\n`);
  });
}
