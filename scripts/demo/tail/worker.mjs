/**
 * The service process of a comparison: `worker.mjs <name of its sides>`, driven by messages from its parent. Both sides meet the same
 * arrivals at the same moments, so whatever else the machine does, it does to both.
 */
import { instant, millisBetween, until, within } from "../clock.mjs";
import { message } from "../messages.mjs";
import { drive, plan } from "../traffic.mjs";

process.on("disconnect", () => process.exit(0));
process.on("SIGINT", () => {});

const setup = message("setup");
const { create } = await import(`./${process.argv[2]}-sides.mjs`);
const { places, traffic, durationMs, drainMs } = await setup;

const warnings = { count: 0, first: undefined };
const subject = await create({
  places,
  warn: (...parts) => {
    warnings.count++;
    warnings.first ??= parts.map((part) => part?.message ?? part).join(": ");
  },
});
await subject.prepare();
const arrivals = plan(traffic, durationMs);
process.send({ type: "ready" });

const begin = BigInt((await message("begin")).at);
const now = () => millisBetween(begin, instant());
const live = [];
const ticker = setInterval(() => {
  const sum = (name) => live.reduce((total, record) => total + record[name], 0);
  process.send({ type: "tick", sent: sum("sent"), answered: sum("answered") });
}, 500);
await until(begin);
const names = Object.keys(subject.sides);
const records = await Promise.all(
  names.map((name) => {
    const { getUser, loadsEnded } = subject.sides[name];
    return drive({ arrivals, durationMs, drainMs, getUser, loadsEnded, now, watch: (record) => live.push(record) });
  }),
);
clearInterval(ticker);
const sides = Object.fromEntries(names.map((name, i) => [name, records[i]]));
const result = { type: "result", atMs: arrivals.atMs, sides, figures: subject.figures(), warnings };
process.send(result, async () => {
  await within(1_000, subject.close());
  process.exit(0);
});
