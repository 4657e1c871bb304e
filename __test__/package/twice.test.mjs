// The addon more than once in one process: two copies of the package in one tree, as peer dependencies and version ranges
// make them, whose binaries are two files, one file of two names (a package store's hard links), or a link.
import { cpSync, linkSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fixture, packages, project, use, withRedis } from "./support.mjs";

const host = `dialcache-native-${packages.host}`;

/** The second copy of the binary package, of the same bytes. */
const copies = {
  "two files": (from, to) => cpSync(from, to, { recursive: true }),
  "hard links": (from, to) => {
    mkdirSync(to);
    for (const name of readdirSync(from)) linkSync(join(from, name), join(to, name));
  },
  "a symbolic link": (from, to) => symlinkSync(from, to, "junction"),
};

for (const [name, copy] of Object.entries(copies)) {
  test(`two copies of the package work side by side, their binaries being ${name}`, async () => {
    const folder = await project("twice", { files: "twice" });
    cpSync(join(fixture("service"), "work.cjs"), join(folder, "work.cjs"));
    const modules = join(folder, "node_modules");
    const second = join(modules, "other", "node_modules");
    mkdirSync(second, { recursive: true });
    cpSync(join(modules, "dialcache-native"), join(second, "dialcache-native"), { recursive: true });
    copy(join(modules, host), join(second, host));
    cpSync(join(folder, "other.cjs"), join(modules, "other", "index.cjs"));
    cpSync(join(folder, "other.mjs"), join(modules, "other", "index.mjs"));
    for (const file of ["other.cjs", "other.mjs"]) rmSync(join(folder, file));
    await withRedis((env) => use(process.execPath, ["twice.mjs"], { cwd: folder, env }));
  });
}
