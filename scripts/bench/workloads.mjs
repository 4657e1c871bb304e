// The workloads of benches/node, each in a process of its own.
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { decoded } from "../../benches/node/support/report.mjs";
import { note, root } from "../support/run.mjs";

export const folder = join(root, "benches", "node");
/** Ends a workload that hangs. */
const LIMIT_MS = 420_000;

/** Names of the workloads that have one of the parts in theirs; all without any. */
export function workloads(parts) {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".mjs"))
    .map((name) => name.slice(0, -".mjs".length));
  return names.filter((name) => parts.length === 0 || parts.some((part) => name.includes(part))).sort();
}

/**
 * Runs one on a Node, its progress and errors on stderr.
 * @returns `{ name, result }`, or `{ name, failure }` with a line that says how it ended.
 */
export async function runWorkload(name, node, { quick = false, limitMs = LIMIT_MS, script } = {}) {
  note(`benches/node/${name}.mjs, Node ${node.version}`);
  const file = script ?? join(folder, `${name}.mjs`);
  const args = ["--expose-gc", file, "--json", ...(quick ? ["--quick"] : [])];
  const { code, stdout } = await finished(node.path, args, limitMs);
  if (code !== 0) return failed(name, code === "SIGTERM" ? `ended after ${limitMs / 1_000} s` : `exit code ${code}`);
  try {
    return { name, result: decoded(stdout.trim().split("\n").at(-1)) };
  } catch {
    return failed(name, "no result on its last line");
  }
}

function failed(name, failure) {
  note(`benches/node/${name}.mjs failed: ${failure}`);
  return { name, failure };
}

function finished(path, args, limitMs) {
  return new Promise((resolve) => {
    const child = spawn(path, args, { stdio: ["ignore", "pipe", "inherit"], timeout: limitMs });
    const chunks = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.on("error", (error) => resolve({ code: error.code ?? error.message, stdout: "" }));
    child.on("close", (code, signal) => {
      resolve({ code: code ?? signal, stdout: Buffer.concat(chunks).toString("utf8") });
    });
  });
}
