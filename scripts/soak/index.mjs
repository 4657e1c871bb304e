// Memory and threads over a long run: see docs/reliability.md.
//
//   npm run soak -- [--short] [--seed N] [--operations N] [--failing N] [--workers N] [--instances N]
//
// A phase whose number is 0 is left out. Fails when memory grows over the second half of a phase, or something is left.
import { parseArgs } from "node:util";
import { main, note, SetupError, status } from "../support/run.mjs";

const full = { operations: 10_000_000, failing: 1_000_000, workers: 500, instances: 10_000 };
const short = { operations: 100_000, failing: 20_000, workers: 24, instances: 1_000 };

function counts() {
  const number = { type: "string" };
  const options = { short: { type: "boolean" }, seed: number };
  for (const name of Object.keys(full)) options[name] = number;
  const { values } = parseArgs({ options });
  const { short: isShort, seed = "1", ...named } = values;
  const chosen = { ...(isShort ? short : full), ...named };
  for (const [name, value] of Object.entries({ ...chosen, seed })) {
    if (!/^\d+$/.test(value)) throw new SetupError(`--${name} ${value}: use a whole number`);
  }
  return { seed, chosen };
}

await main(() => {
  const { seed, chosen } = counts();
  note(`soak: seed ${seed}, Node ${process.versions.node}`);
  const phases = Object.entries(chosen).filter(([, count]) => Number(count) > 0);
  const failed = phases.filter(([name, count]) => {
    const script = `scripts/soak/${name}.mjs`;
    return status(process.execPath, ["--expose-gc", script, String(count), seed]) !== 0;
  });
  if (failed.length > 0) throw new SetupError(`soak failed: ${failed.map(([name]) => name).join(", ")}`);
});
