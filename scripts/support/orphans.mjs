// Rust files that no module names. The compiler does not miss them: tests in one would silently never run.
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { root } from "./run.mjs";
import { filesBelow } from "./stamp.mjs";

/** The files below `folder` that are part of no crate. */
export function orphans(folder = "src") {
  return filesBelow(folder).filter((path) => {
    if (!path.endsWith(".rs") || ["lib.rs", "main.rs"].includes(basename(path))) return false;
    const isFolder = basename(path) === "mod.rs";
    const home = isFolder ? dirname(dirname(path)) : dirname(path);
    const name = isFolder ? basename(dirname(path)) : basename(path, ".rs");
    const parents = [`${home}.rs`, ...["mod.rs", "lib.rs", "main.rs"].map((file) => join(home, file))];
    const declared = new RegExp(`^\\s*(?:pub(?:\\([a-z: ]+\\))? )?mod ${name};`, "m");
    return !parents.some(
      (file) => existsSync(join(root, file)) && declared.test(readFileSync(join(root, file), "utf8")),
    );
  });
}
