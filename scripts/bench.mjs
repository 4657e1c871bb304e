// Runs the benchmarks: criterion's in benches/, and the side-by-side scripts in benches/node/.
//
//   npm run bench [-- rust|node [filter]]
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ensure } from "./ensure.mjs";
import { main, note, root, SetupError, status } from "./support/run.mjs";

function rust(filter) {
  return status("cargo", ["bench", "--no-default-features", ...(filter ? ["--", filter] : [])]);
}

function node(filter = "") {
  const folder = join(root, "benches", "node");
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".bench.mjs")) : [];
  const failed = files.sort().filter((name) => {
    if (!name.includes(filter)) return false;
    note(`benches/node/${name}`);
    return status(process.execPath, ["--expose-gc", join(folder, name)]) !== 0;
  });
  return failed.length;
}

const kinds = { node, rust };

await main(() => {
  const [kind, filter] = process.argv.slice(2);
  if (kind && !Object.hasOwn(kinds, kind)) throw new SetupError(`unknown kind ${kind}: use node or rust`);
  ensure();
  const failed = Object.entries(kinds).filter(([name, run]) => (!kind || kind === name) && run(filter) !== 0);
  if (failed.length > 0) throw new SetupError("a benchmark failed");
});
