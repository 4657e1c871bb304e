/** Outlives its parent by a moment, to kill what the parent could not: servers that nobody would end when the demo itself is killed. */
let pids = [];

process.on("message", (message) => {
  pids = message.pids;
});
process.on("disconnect", () => {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Gone already, which is the usual case.
    }
  }
  process.exit(0);
});
// Signals to the whole group, as from a terminal, must not end the guard before its parent.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
