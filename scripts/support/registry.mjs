// A package registry on this machine that knows only the packed tarballs: installing from it lets package managers choose
// among the platforms' packages as they do with the published ones.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename } from "node:path";
import { SetupError } from "./run.mjs";

/** A file of a packed package. */
export function fileOf(tarball, path) {
  const { status, stdout, stderr } = spawnSync("tar", ["-xzOf", tarball, `package/${path}`], { maxBuffer: 2 ** 28 });
  if (status !== 0) throw new SetupError(`${tarball} has no ${path}: ${stderr}`);
  return stdout;
}

/** The manifest of a packed package. */
export const manifestOfTarball = (tarball) => JSON.parse(fileOf(tarball, "package.json").toString());

function documentOf(tarball, url) {
  const manifest = manifestOfTarball(tarball);
  const integrity = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
  const dist = { tarball: `${url}/-/${basename(tarball)}`, integrity };
  const { name, version } = manifest;
  const time = { [version]: "2020-01-01T00:00:00.000Z" };
  return { name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } }, time };
}

/** Serves the tarballs; every other package is unknown. */
export async function startRegistry(tarballs) {
  const files = new Map(tarballs.map((tarball) => [`/-/${basename(tarball)}`, tarball]));
  const documents = new Map();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    if (files.has(path)) return response.end(readFileSync(files.get(path)));
    const document = documents.get(path);
    response.statusCode = document ? 200 : 404;
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify(document ?? { error: "not found" }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  for (const tarball of tarballs) {
    const document = documentOf(tarball, url);
    documents.set(`/${document.name}`, document);
  }
  return { url, stop: () => server.close() };
}
