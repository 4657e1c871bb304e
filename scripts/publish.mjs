// Publishes a complete release: the binary packages first, the root last. What is published already is left as it is, so
// that a publication that broke off can be taken up again.
//
//   node scripts/publish.mjs FOLDER --check       only checks the tarballs, and writes SHA256SUMS
//   node scripts/publish.mjs FOLDER --dry-run     and lets npm say what it would publish
//   node scripts/publish.mjs FOLDER
import { spawnSync } from "node:child_process";
import { basename, resolve } from "node:path";
import { manifestOf } from "./support/platforms.mjs";
import { manifestOfTarball } from "./support/registry.mjs";
import { releaseSet, writeSums } from "./support/release-set.mjs";
import { main, must, note, SetupError } from "./support/run.mjs";

const shell = process.platform === "win32";

function isPublished(tarball) {
  const { name, version } = manifestOfTarball(tarball);
  const { status, stdout } = spawnSync("npm", ["view", `${name}@${version}`, "version"], { encoding: "utf8", shell });
  return status === 0 && stdout.trim() === version;
}

await main(() => {
  const [folder, option] = process.argv.slice(2);
  if (!folder || (option && !["--check", "--dry-run"].includes(option))) {
    throw new SetupError("use: node scripts/publish.mjs FOLDER [--check | --dry-run]");
  }
  const tarballs = releaseSet(resolve(folder));
  writeSums(resolve(folder), tarballs);
  note(`complete: ${tarballs.map((tarball) => basename(tarball)).join(", ")}`);
  if (option === "--check") return;
  // A release candidate must not be what a plain npm install brings.
  const tag = manifestOf(".").version.includes("-") ? "next" : "latest";
  for (const tarball of tarballs) {
    if (!option && isPublished(tarball)) {
      note(`${basename(tarball)} is published already`);
      continue;
    }
    // Provenance is signed by the workflow's identity: there is none in a dry run.
    const how = option ? ["--dry-run"] : ["--provenance"];
    must("npm", ["publish", tarball, "--access", "public", "--tag", tag, ...how], { shell });
  }
});
