// Runs a command with its output both shown and kept, so that its closing lines can be shown again at the end.
import { spawn } from "node:child_process";
import { root } from "./run.mjs";

/** Answers the exit code and everything the command printed, stdout and stderr in the order they came. */
export function tee(command, args, { env = {} } = {}) {
  // Some runners colour whatever CI they find themselves in.
  const colour = process.stdout.isTTY ? { FORCE_COLOR: "1", CARGO_TERM_COLOR: "always" } : { NO_COLOR: "1" };
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...colour, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        chunks.push(chunk);
        process.stdout.write(chunk);
      });
    }
    child.on("error", reject);
    child.on("close", (code, signal) => {
      resolve({ code: code ?? `signal ${signal}`, output: Buffer.concat(chunks).toString("utf8") });
    });
  });
}
