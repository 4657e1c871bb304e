import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";

/**
 * Ends every process and folder of the tests, even when the test process is killed itself: a shell
 * keeps the list and acts when its standard input closes, which the kernel does for a dead parent.
 */
const SCRIPT = `
trap '' INT HUP TERM
entries=
while read -r op pid dir; do
  if [ "$op" = add ]; then entries="$entries $pid:$dir"; continue; fi
  rest=
  for entry in $entries; do [ "\${entry%%:*}" = "$pid" ] || rest="$rest $entry"; done
  entries=$rest
done
for entry in $entries; do
  kill -9 "\${entry%%:*}" 2>/dev/null
  [ -z "\${entry#*:}" ] || rm -rf "\${entry#*:}"
done
`;

const owned = new Map<number, string>();
let guard: ChildProcess | undefined;

function tell(line: string): void {
  if (guard === undefined) {
    guard = spawn("sh", ["-c", SCRIPT], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
    guard.unref();
    (guard.stdin as unknown as { unref?: () => void }).unref?.();
    guard.stdin?.on("error", () => {});
    process.on("exit", reapAll);
  }
  guard.stdin?.write(`${line}\n`);
}

/** Ends `pid` and removes `dir` (a path without blanks; may be empty) when this process ends. */
export function own(pid: number, dir = ""): void {
  owned.set(pid, dir);
  tell(`add ${pid} ${dir}`);
}

/** Forgets `pid`, which has ended; its folder is the caller's again. */
export function disown(pid: number): void {
  if (owned.delete(pid)) {
    tell(`del ${pid}`);
  }
}

function reapAll(): void {
  for (const [pid, dir] of owned) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Already gone.
    }
    if (dir !== "") {
      rmSync(dir, { recursive: true, force: true });
    }
  }
  owned.clear();
}
