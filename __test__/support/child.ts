import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { disown, own } from "./reaper";

export interface ChildResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const entry = fileURLToPath(new URL("../../dist/index.js", import.meta.url));

/**
 * Runs `script` as CommonJS in a Node of its own, and resolves when that process has ended by itself.
 *
 * @param preload Whether the compiled package is loaded first, as `dialcache`. Default true.
 */
export function runScript(script: string, env: Record<string, string> = {}, preload = true): Promise<ChildResult> {
  const prelude = preload ? `const dialcache = require(${JSON.stringify(entry)});\n` : "";
  return runSource("commonjs", prelude + script, env);
}

/** The same for an ES module, which imports the compiled package by its name. */
export function runModule(source: string, env: Record<string, string> = {}): Promise<ChildResult> {
  return runSource("module", source, env);
}

async function runSource(
  type: "commonjs" | "module",
  source: string,
  env: Record<string, string>,
): Promise<ChildResult> {
  if (!existsSync(entry)) {
    throw new Error("dist/ is missing: run npm run build");
  }
  const child = spawn(process.execPath, ["--expose-gc", `--input-type=${type}`, "-e", source], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: "", VITEST: "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid } = child;
  if (pid !== undefined) {
    own(pid);
  }
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (pid !== undefined) {
        disown(pid);
      }
      resolve({ code, signal, stdout, stderr });
    });
  });
}

/** The package's entry, for scripts that load it elsewhere, such as in their worker threads. */
export const packageEntry = entry;
