// Packs the package and the binary package of this platform as they would be published.
//
//   node scripts/pack.mjs [folder]      (default: ./packages)
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ensure } from "./ensure.mjs";
import { platformName } from "./support/platform.mjs";
import { isMain, main, root, SetupError } from "./support/run.mjs";

const manifest = (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));

/** One version everywhere: a binary is only ever used by the JavaScript it was built with. */
function checkVersions() {
  const { version, optionalDependencies } = manifest(".");
  const crate = /^version = "(.*)"$/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"))?.[1];
  if (crate !== version) throw new SetupError(`Cargo.toml has version ${crate}, package.json ${version}`);
  const platforms = readdirSync(join(root, "npm")).map((name) => manifest(`npm/${name}`));
  for (const platform of platforms) {
    const wanted = optionalDependencies[platform.name];
    if (platform.version !== version || wanted !== version) {
      throw new SetupError(
        `${platform.name} has version ${platform.version}, package.json wants ${wanted} at ${version}`,
      );
    }
  }
}

function pack(folder, destination) {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", destination];
  const { status, stdout, stderr } = spawnSync("npm", args, {
    cwd: join(root, folder),
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new SetupError(`npm pack failed in ${folder}: ${stderr}`);
  const report = JSON.parse(stdout);
  const [{ filename }] = Array.isArray(report) ? report : Object.values(report);
  return join(destination, filename);
}

/** Builds what is out of date and answers the two tarballs' paths. */
export function packAll(folder = "packages") {
  ensure(["modules", "addon", "dist"]);
  checkVersions();
  const destination = resolve(root, folder);
  mkdirSync(destination, { recursive: true });
  const platform = `npm/${platformName()}`;
  if (!existsSync(join(root, platform))) throw new SetupError(`there is no binary package for ${platformName()} yet`);
  return { main: pack(".", destination), platform: pack(platform, destination) };
}

if (isMain(import.meta.url)) {
  await main(() => {
    const { main: tarball, platform } = packAll(process.argv[2]);
    process.stdout.write(`${tarball}\n${platform}\n`);
  });
}
