// A release as far as it can be made on this machine: builds and runs every platform it can, packs them and the root,
// checks the set, and runs all consumers with these very tarballs.
//
//   npm run release:candidate [-- FOLDER]      (default: ./packages)
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { buildPlatforms } from "./build-platforms.mjs";
import { packBuilt } from "./pack.mjs";
import { canBuild } from "./support/cross.mjs";
import { platforms } from "./support/platforms.mjs";
import { releaseSet, writeSums } from "./support/release-set.mjs";
import { main, must, note, root } from "./support/run.mjs";

await main(async () => {
  const folder = resolve(root, process.argv[2] ?? "packages");
  const wanted = platforms.filter(canBuild);
  const lines = await buildPlatforms(wanted);
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".tgz"))) rmSync(join(folder, name));
  packBuilt(folder);
  const tarballs = releaseSet(folder, wanted);
  writeSums(folder, tarballs);
  note("running the consumers with these tarballs");
  must(process.execPath, [join(root, "scripts", "pack-test.mjs"), "--packages", folder]);
  for (const line of lines) process.stdout.write(`${line}\n`);
  for (const tarball of tarballs) process.stdout.write(`packed ${basename(tarball)}\n`);
  const missing = platforms.filter((platform) => !wanted.includes(platform));
  if (missing.length > 0) process.stdout.write(`to be built by the release workflow: ${missing.join(", ")}\n`);
});
