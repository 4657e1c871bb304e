// Loading the addon, and its size on disk.
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/support/run.mjs";
import { figure } from "./support/figures.mjs";
import { workload } from "./support/workload.mjs";

const STARTS = 11;

await workload("loading the package", async (report) => {
  const addon = readdirSync(root).find((name) => name.endsWith(".node"));
  const time = (path) => {
    const script = `const began = performance.now(); require(${JSON.stringify(path)}); console.log(performance.now() - began);`;
    return Number(spawnSync(process.execPath, ["-e", script], { encoding: "utf8" }).stdout);
  };
  const paths = { "the addon": join(root, addon), "the package": join(root, "dist", "index.js") };
  const names = Object.keys(paths);
  const taken = Object.fromEntries(names.map((name) => [name, []]));
  for (let start = 0; start < STARTS; start++) for (const name of names) taken[name].push(time(paths[name]));
  report.table(
    "require() in a new process",
    ["", "ms"],
    names.map((name) => [name, figure(taken[name])]),
  );
  report.budget("addon load", figure(taken["the addon"]).median, 15, "ms");
  report.budget("addon's size", statSync(join(root, addon)).size / (1 << 20), 6, "MB");
});
