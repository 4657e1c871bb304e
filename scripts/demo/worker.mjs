/** The service process of one variant: `worker.mjs <variant>`, driven by messages from its parent. One variant's collapse stays in here. */
import { instant, millisBetween, until, within } from "./clock.mjs";
import { message } from "./messages.mjs";
import { sourceClient } from "./source-client.mjs";
import { drive, plan } from "./traffic.mjs";

const WARM_UP_USERS = 200;
const WARM_UP_ROUNDS = 3;

process.on("disconnect", () => process.exit(0));
process.on("SIGINT", () => {});

const setup = message("setup");
const { create } = await import(`./variants/${process.argv[2]}.mjs`);
const { redisUrl, sourceUrl, traffic, durationMs, drainMs } = await setup;

const source = sourceClient(sourceUrl);
const warnings = { count: 0, first: undefined };
const cache = await create({
  redisUrl,
  loadUser: source.loadUser,
  warn: (...parts) => {
    warnings.count++;
    const texts = parts.map((part) => (typeof part === "string" ? part : part?.message));
    warnings.first ??= texts.filter((text) => text !== undefined).join(": ");
  },
});
const arrivals = plan(traffic, durationMs);
await warmUp();
process.send({ type: "ready" });

const begin = BigInt((await message("begin")).at);
const now = () => millisBetween(begin, instant());
let live;
const ticker = setInterval(() => live && process.send({ type: "tick", sent: live.sent, answered: live.answered }), 500);
await until(begin);
const record = await drive({
  arrivals,
  durationMs,
  drainMs,
  getUser: cache.getUser,
  loadsEnded: source.loadsEnded,
  now,
  watch: (started) => {
    live = started;
  },
});
clearInterval(ticker);
const { latencyMs, outcome, firstError } = record;
process.send({ type: "result", atMs: arrivals.atMs, latencyMs, outcome, firstError, warnings }, async () => {
  await within(1_000, cache.close());
  process.exit(0);
});

/** Users outside the measured ones, so that compiled code and open connections are in place but the cache is still cold. */
async function warmUp() {
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    const calls = Array.from({ length: WARM_UP_USERS }, (_, i) => cache.getUser(`warm-${i}`));
    await Promise.all(calls);
  }
}
