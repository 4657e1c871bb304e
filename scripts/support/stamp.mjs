// Content stamps: a step runs again only when what it is made from has changed.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { root } from "./run.mjs";

const file = join(root, ".build-stamps.json");

/** All files below `path` (relative to the root), sorted; a file stands for itself, a missing path for nothing. */
export function filesBelow(path) {
  const full = join(root, path);
  if (!existsSync(full)) return [];
  if (!statSync(full).isDirectory()) return [path];
  return readdirSync(full, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

/** A hash over names and contents of everything below `paths`, and over `extra`. */
export function fingerprint(paths, extra = "") {
  const hash = createHash("sha256").update(extra);
  for (const path of paths.flatMap(filesBelow)) {
    const content = readFileSync(join(root, path));
    hash.update(`\0${path}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function readStamps() {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return {};
  }
}

/**
 * Runs `step` unless it already ran for this fingerprint and all `outputs` are still there.
 * Answers whether it ran.
 */
export function whenChanged(name, { print, outputs, force = false }, step) {
  const current = readStamps()[name] === print && outputs.every((path) => existsSync(join(root, path)));
  if (current && !force) return false;
  step();
  writeFileSync(file, `${JSON.stringify({ ...readStamps(), [name]: print }, null, 2)}\n`);
  return true;
}
