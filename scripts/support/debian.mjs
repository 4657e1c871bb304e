// Unpacks Debian packages into folders of their own: nothing is installed, and other architectures and releases than the
// system's are asked for in a package index that is kept apart.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { must, note, SetupError, which } from "./run.mjs";

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

export const isDebian = () => which("apt-get") !== undefined && which("dpkg-deb") !== undefined && existsSync(keyring);

function ask(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8" });
  return status === 0 ? stdout : "";
}

/** Where the system takes its main archive from. */
function archive() {
  const targets = ask("apt-get", ["indextargets", "--format", "$(REPO_URI) $(ORIGIN)", "Created-By: Packages"]);
  const uri = targets.split("\n").find((line) => /\/debian\/? Debian$/.test(line));
  if (!uri) throw new SetupError("apt has no Debian archive among its sources: run apt-get update first");
  return uri.split(" ")[0];
}

/** Options for an index of another architecture or release, in `folder`. */
function apart(folder, { arch, release }) {
  const lists = join(folder, "lists");
  mkdirSync(join(lists, "partial"), { recursive: true });
  const sources = join(folder, "sources.list");
  writeFileSync(sources, `deb [signed-by=${keyring}] ${archive()} ${release} main\n`);
  return [
    ...[`APT::Architecture=${arch}`, `APT::Architectures=${arch}`, `Dir::State::Lists=${lists}`],
    ...[
      `Dir::Etc::sourcelist=${sources}`,
      "Dir::Etc::sourceparts=-",
      "Dir::Cache::pkgcache=",
      "Dir::Cache::srcpkgcache=",
    ],
  ].flatMap((option) => ["-o", option]);
}

/** The names that a package depends on, of those that match. */
export function dependenciesOf(name, pattern) {
  const names = [...ask("apt-cache", ["depends", name]).matchAll(/Depends: (\S+)/g)].map(([, found]) => found);
  return names.filter((found) => pattern.test(found));
}

/** Whether the system's own index knows the package; asks for the index when it is not there yet. */
export function knows(name) {
  if (ask("apt-cache", ["show", "--no-all-versions", name])) return true;
  must("apt-get", ["update", "-qq"]);
  return ask("apt-cache", ["show", "--no-all-versions", name]) !== "";
}

/** Unpacks the packages into `place`, at once or not at all. `other` names an architecture and release of their own. */
export function unpack(names, place, other) {
  note(`fetching ${names.join(", ")}`);
  mkdirSync(dirname(place), { recursive: true });
  const scratch = mkdtempSync(`${place}-`);
  try {
    // As the user who asks: the sandbox user cannot write here.
    const options = ["-qq", "-o", "APT::Sandbox::User=root", ...(other ? apart(scratch, other) : [])];
    if (other) must("apt-get", [...options, "update"]);
    must("apt-get", [...options, "download", ...names], { cwd: scratch });
    const unpacked = join(scratch, "unpacked");
    mkdirSync(unpacked);
    for (const file of readdirSync(scratch).filter((entry) => entry.endsWith(".deb"))) {
      must("dpkg-deb", ["-x", join(scratch, file), unpacked]);
    }
    rmSync(place, { recursive: true, force: true });
    renameSync(unpacked, place);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
