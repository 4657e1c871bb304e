// Runs the tools the other scripts need. Progress goes to stderr: stdout belongs to the command the user asked for.
import { spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root, whatever the working directory is. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** An error whose message says in one line what to do; reported without a stack. */
export class SetupError extends Error {}

export function note(message) {
  process.stderr.write(`[dialcache] ${message}\n`);
}

/** The full path of `name` on PATH, or undefined. */
export function which(name) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      if (statSync(candidate).isFile()) return candidate;
    } catch {
      // Not here: try the next folder.
    }
  }
  return undefined;
}

/** Runs a command in the repository's root and answers its exit status. */
export function status(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], ...options });
  if (result.error) throw new SetupError(`cannot run ${command}: ${result.error.message}`);
  return result.status ?? 1;
}

/** Runs a command, its output on stderr, and throws when it fails. */
export function must(command, args, options = {}) {
  const code = status(command, args, { stdio: ["ignore", 2, 2], ...options });
  if (code !== 0) throw new SetupError(`${[command, ...args].join(" ")} failed (exit code ${code})`);
}

/** A tool's own JavaScript entry in node_modules, run by this Node: no shell and no `.cmd` differences. */
export function npmTool(path, args, options = {}) {
  must(process.execPath, [join(root, "node_modules", path), ...args], options);
}

/** Runs a script's main function and turns a SetupError into one line and exit code 1. */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    note(error.message);
    process.exitCode = 1;
  }
}

/** Whether the module at `url` is the script node was started with. */
export function isMain(url) {
  return process.argv[1] === fileURLToPath(url);
}
