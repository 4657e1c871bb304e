/** What is seen while the demo runs: a line per phase, and below it the counts, renewed in place on a terminal. */
import { duration } from "./table.mjs";

const INTERVAL_MS = 1_000;

export function progressOn(stream) {
  let nextAt = 0;
  let live = false;
  let answeredBefore = 0;

  function write(text) {
    if (live) stream.write("\n");
    live = false;
    stream.write(`${text}\n`);
  }

  return {
    say: write,
    variant(title) {
      write(`\n${title}`);
      nextAt = 0;
      answeredBefore = 0;
    },
    phase({ name, seconds, what }) {
      write(`  ${name.padEnd(10)} ${String(seconds).padStart(2)} s  ${what}`);
    },
    tick({ atMs, sent, answered }) {
      if (atMs < nextAt) return;
      nextAt = (Math.floor(atMs / INTERVAL_MS) + 1) * INTERVAL_MS;
      const line = `    ${duration(atMs).padStart(8)}  sent ${sent}, answered ${answered} (+${answered - answeredBefore}), waiting ${sent - answered}`;
      answeredBefore = answered;
      if (stream.isTTY) {
        stream.write(`\r\x1b[K${line}`);
        live = true;
      } else {
        stream.write(`${line}\n`);
      }
    },
  };
}
