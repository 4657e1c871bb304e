import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** One fenced block of a document, made whole. */
export interface Snippet {
  /** File and line, and the heading it stands under. */
  readonly title: string;
  readonly language: "ts" | "js";
  readonly code: string;
  /** What it prints, by its `// →` comments. */
  readonly prints: string;
  /** False for a block marked `no-run`. */
  readonly runs: boolean;
}

const FENCE = /^```(ts|js)( no-run)?\n(.*?)^```$/gms;
const PACKAGE_IMPORT = /^import \{[^}]*\} from "dialcache-native";\n/m;

/**
 * The TypeScript and JavaScript blocks of a document. One without an import goes on from the document's first one: it
 * is put behind it, in a scope of its own, with everything the package exports at hand.
 */
export function snippetsOf(file: string, exported: readonly string[]): Snippet[] {
  const text = readFileSync(`${root}${file}`, "utf8");
  const found: Snippet[] = [];
  let first: string | undefined;
  for (const match of text.matchAll(FENCE)) {
    const [, language, mark, body] = match as unknown as [string, "ts" | "js", string | undefined, string];
    const before = text.slice(0, match.index);
    const heading = /^#+ (.*)$/m.exec(before.split(/^(?=#+ )/m).at(-1) ?? "")?.[1] ?? "";
    const whole = /^import |require\(/m.test(body);
    if (whole) first ??= body;
    const code = whole ? body : continued(first ?? "", body, exported);
    const title = `${file}:${before.split("\n").length}, ${heading}`;
    found.push({ title, language, code, prints: printed(code), runs: mark === undefined });
  }
  return found;
}

function continued(first: string, body: string, exported: readonly string[]): string {
  const types = 'import type { DialCacheRedisClient } from "dialcache-native";\n';
  const imports = `import { ${exported.join(", ")} } from "dialcache-native";\n${types}`;
  return `${first.replace(PACKAGE_IMPORT, imports)}\n{\n${body}}\n`;
}

function printed(code: string): string {
  return [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, line]) => `${line}\n`).join("");
}

/** What TypeScript, set as for this project, has to say about the snippets. */
export function typeErrors(snippets: readonly Snippet[]): string[] {
  const config = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  const typed = snippets.filter(({ language }) => language === "ts");
  const files = new Map(typed.map(({ code }, index) => [`${root}snippet-${index}.ts`, code]));
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.getSourceFile = (name, target, ...rest) => {
    const code = files.get(name);
    return code === undefined ? getSourceFile(name, target, ...rest) : ts.createSourceFile(name, code, target);
  };
  const unused = { noUnusedLocals: false, noUnusedParameters: false };
  const program = ts.createProgram([...files.keys()], { ...options, ...unused, noEmit: true }, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const index = [...files.keys()].indexOf(file?.fileName ?? "");
    const line = file?.text.slice(0, start).split("\n").length ?? 0;
    const source = file?.text.split("\n")[line - 1] ?? "";
    return `${typed[index]?.title ?? file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}\n${source}`;
  });
}

/** A snippet's code as Node runs it. */
export function compiled({ language, code }: Snippet): string {
  // What a reader's deadline should be is no matter here: a slow machine must not miss it.
  const patient = code.replaceAll(/readTimeoutMs: \d+/g, "readTimeoutMs: 30_000");
  if (language === "js") return patient;
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  return ts.transpileModule(patient, { compilerOptions: options }).outputText;
}
