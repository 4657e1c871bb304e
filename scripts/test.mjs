// Runs every test: the Rust core alone, all of Rust, the types, and the package from JavaScript.
//
//   npm test                       everything
//   npm test -- rust [filter]      cargo tests whose name contains the filter
//   npm test -- js [filter]        vitest files whose path contains the filter
//   npm test -- types
import { ensure } from "./ensure.mjs";
import { cargoRunner } from "./support/cargo-test.mjs";
import { main, note, SetupError } from "./support/run.mjs";
import { ensureServers } from "./support/servers.mjs";
import { tee } from "./support/tee.mjs";
import { countCargo, countVitest, total } from "./support/test-counts.mjs";

const rustRuns = [
  { title: "Rust core alone", features: ["--no-default-features"] },
  { title: "Rust with all features", features: ["--all-features"] },
];

async function rust(filters) {
  const runner = cargoRunner();
  const results = [];
  for (const { title, features } of rustRuns) {
    const run = await tee("cargo", [...runner, ...features, ...filters]);
    results.push({ title, ...run, ...countCargo(run.output) });
  }
  return results;
}

async function types() {
  const results = [];
  for (const [title, project] of [
    ["Types", "tsconfig.json"],
    ["Types of the build", "tsconfig.build.json"],
  ]) {
    const run = await tee(process.execPath, ["node_modules/typescript/bin/tsc", "--noEmit", "-p", project]);
    results.push({ title, ...run, lines: [run.code === 0 ? "no errors" : "errors, listed above"] });
  }
  return results;
}

async function js(filters) {
  const run = await tee(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...filters]);
  return [{ title: "JavaScript", ...run, ...countVitest(run.output) }];
}

const suites = { rust, types, js };

function summarise(results) {
  process.stdout.write("\n== test summary ==\n");
  for (const { title, code, lines } of results) {
    process.stdout.write(`${title}: ${code === 0 ? "ok" : `FAILED (exit code ${code})`}\n`);
    for (const line of lines) process.stdout.write(`  ${line}\n`);
  }
  process.stdout.write(`${total(results)}\n`);
}

await main(async () => {
  const [suite, ...filters] = process.argv.slice(2);
  if (suite && !Object.hasOwn(suites, suite)) {
    throw new SetupError(`unknown suite ${suite}: use ${Object.keys(suites).join(", ")}`);
  }
  ensure();
  if (!suite || suite === "js") ensureServers();
  const results = [];
  for (const [name, run] of Object.entries(suites)) {
    if (suite && name !== suite) continue;
    note(`testing: ${name}`);
    results.push(...(await run(filters)));
  }
  summarise(results);
  if (results.some(({ code }) => code !== 0)) process.exitCode = 1;
});
