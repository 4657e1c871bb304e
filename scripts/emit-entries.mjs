// Writes the ES module side of every entry in package.json's `exports`: a thin module that re-exports the CommonJS
// build by name. There is one copy of the code, so an error class or a cache is the same thing to `import` and `require`.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { isMain, main, root, SetupError } from "./support/run.mjs";

const header = (source) => `// Generated from ${source}. Do not edit.\n`;

/** The entries with code: their file names, all relative to the root. */
export function entries() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.values(exports)
    .filter((target) => typeof target === "object")
    .map(({ import: esm, require: cjs }) => ({
      source: cjs.default.replace("./dist/", "lib/").replace(/\.js$/, ".ts"),
      cjs: cjs.default.slice(2),
      dts: cjs.types.slice(2),
      mjs: esm.default.slice(2),
      dmts: esm.types.slice(2),
    }));
}

/** The names a source file exports as values, asked of the compiler: nothing is run for it. */
function valueExports(ts, program, source) {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(join(root, source));
  const symbol = file && checker.getSymbolAtLocation(file);
  if (!symbol) throw new SetupError(`${source} is not a module`);
  const names = checker.getExportsOfModule(symbol).filter((exported) => {
    const target = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    return (target.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(ts, exported);
  });
  return names.map(({ name }) => name).sort();
}

function isTypeOnly(ts, symbol) {
  return symbol.declarations?.some((node) => ts.isTypeOnlyImportOrExportDeclaration(node)) ?? false;
}

function load() {
  // Loaded on demand: this file is imported before node_modules exists.
  const ts = createRequire(import.meta.url)("typescript");
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, "tsconfig.build.json"),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (problem) => {
        throw new SetupError(ts.flattenDiagnosticMessageText(problem.messageText, "\n"));
      },
    },
  );
  return { ts, program: ts.createProgram(config.fileNames, config.options) };
}

/** Writes `*.mjs` and `*.d.mts` for every entry. */
export function emitEntries() {
  const { ts, program } = load();
  for (const { source, cjs, dts, mjs, dmts } of entries()) {
    const names = valueExports(ts, program, source);
    // Named, not `export *`: Node finds these names in CommonJS by scanning text, and bundlers keep what is used.
    const list = names.map((name) => `  ${name},\n`).join("");
    writeFileSync(join(root, mjs), `${header(source)}export {\n${list}} from "./${cjs}";\n`);
    writeFileSync(join(root, dmts), `${header(source)}export * from "./${basename(dts, ".d.ts")}.js";\n`);
  }
}

if (isMain(import.meta.url)) await main(emitEntries);
