// Rolls the types of every entry up into one readable file in the root: the public API, committed, so that a change of
// it shows in a diff.
//
//   node scripts/emit-types.mjs [--check]      --check writes nothing and fails when a committed file is stale
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { entries } from "./emit-entries.mjs";
import { isMain, main, note, root, SetupError } from "./support/run.mjs";
import { shareWith, spaced } from "./support/share-types.mjs";

const require = createRequire(import.meta.url);

// `Buffer` and `AsyncDisposable` come from Node's types, which newer compilers no longer include by themselves.
const header = (source) =>
  `// The public API, generated from ${source} by \`npm run types\`. Do not edit.\n/// <reference types="node" />\n\n`;

function rollUp(sources) {
  const { generateDtsBundle } = require("dts-bundle-generator");
  // Sorted, so that moving an import inside lib/ does not move half of the API in the diff.
  const output = { noBanner: true, exportReferencedTypes: false, sortNodes: true };
  const config = { preferredConfigPath: join(root, "tsconfig.build.json") };
  try {
    return generateDtsBundle(
      sources.map((source) => ({ filePath: join(root, source), output })),
      config,
    );
  } catch (error) {
    throw new SetupError(`the types could not be rolled up: ${error.message}`);
  }
}

function format(text) {
  const biome = require.resolve("@biomejs/biome/bin/biome");
  const args = [biome, "format", "--stdin-file-path=public-api.d.ts"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, input: text, encoding: "utf8" });
  if (status !== 0) throw new SetupError(`biome could not format the rolled-up types: ${stderr}`);
  return stdout;
}

/** The text of every entry's types, by file name. */
export function publicTypes() {
  const ts = require("typescript");
  const all = entries();
  const [index, ...others] = rollUp(all.map(({ source }) => source));
  const texts = [index, ...others.map((text) => shareWith(ts, text, index, "./index.js"))];
  return new Map(
    all.map(({ source, dts }, at) => {
      const body = spaced(ts, texts[at]);
      const inner = /(?:from|import\() ?"(\.[^"]*)"/.exec(body.replaceAll('"./index.js"', ""));
      if (inner)
        throw new SetupError(`the public types of ${source} need ${inner[1]}, which is not part of the package`);
      return [dts, format(header(source) + body)];
    }),
  );
}

if (isMain(import.meta.url)) {
  await main(() => {
    const check = process.argv.includes("--check");
    const stale = [];
    for (const [file, text] of publicTypes()) {
      const path = join(root, file);
      if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
      stale.push(file);
      if (!check) writeFileSync(path, text);
    }
    if (check && stale.length > 0) throw new SetupError(`${stale.join(", ")} stale: run \`npm run types\` and commit`);
    note(stale.length > 0 ? `wrote ${stale.join(", ")}` : "public types are up to date");
  });
}
