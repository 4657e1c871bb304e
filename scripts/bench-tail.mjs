// Simulates hedging in virtual time: benches/tail/.
//
//   npm run bench:tail [-- --json]     (--json: the last line is one JSON object)
import { main, SetupError, status } from "./support/run.mjs";

await main(() => {
  const args = process.argv.slice(2);
  const unknown = args.find((arg) => arg !== "--json");
  if (unknown) throw new SetupError(`unknown option ${unknown}: use --json`);
  const code = status("cargo", ["bench", "--quiet", "--no-default-features", "--bench", "tail", "--", ...args]);
  if (code !== 0) throw new SetupError(`the simulation failed (exit code ${code})`);
});
