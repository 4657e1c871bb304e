// Many calls under way at once, each with a key of its own: what one of them costs.
import { dialcacheLocal } from "./support/caches.mjs";
import { stopwatch } from "./support/cpu.mjs";
import { exponent, figure } from "./support/figures.mjs";
import { filled, PLAIN } from "./support/filled.mjs";
import { isQuick } from "./support/quick.mjs";
import { startRedis } from "./support/redis.mjs";
import { workload } from "./support/workload.mjs";

const COUNTS = [1, 10, 100, 1_000, 10_000];
/** Growth is judged from here: below, it is the turn of the event loop that is paid for. */
const JUDGED_FROM = 100;
const BYTES = 100;
/** About how many calls one round of a contender makes. */
const CALLS = 20_000;
const ROUNDS = isQuick ? 2 : 5;
const WARM_UPS = 1;

let lastKey = 0;

/** Flights that wait for their source: all are begun before any is answered. */
function sourceFlights() {
  let answer;
  let answered;
  const { cache, get } = dialcacheLocal(() => answered);
  const run = (count) =>
    cache.enable(async () => {
      answered = new Promise((resolve) => {
        answer = resolve;
      });
      const calls = Array.from({ length: count }, () => get(`user:${lastKey++}`));
      setImmediate(answer, { name: "a user" });
      await Promise.all(calls);
    });
  return { run, close: () => cache.close() };
}

await workload("concurrent flights", async (report) => {
  const server = await startRedis();
  const most = COUNTS.at(-1);
  const options = { dialcache: { clientOptions: { maxPending: 2 * most } } };
  const { ids, dialcache, readers, close } = await filled(server, most, BYTES, options);
  const source = sourceFlights();
  const all = (count, read) => Promise.all(ids.slice(0, count).map((id) => read(id)));
  const contenders = {
    "dialcache-native, source": source.run,
    "dialcache-native, Redis hit": (count) => dialcache.cache.enable(() => all(count, (id) => dialcache.get(id))),
    [PLAIN]: (count) => all(count, readers[PLAIN]),
  };
  const names = Object.keys(contenders);
  const found = Object.fromEntries(names.map((name) => [name, COUNTS.map(() => ({ main: [], wall: [] }))]));
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    for (const [at, count] of COUNTS.entries()) {
      // Alone, a call waits for a round trip: fewer of them take as long.
      const times = Math.ceil(CALLS / Math.max(count, 10));
      for (const name of names) {
        globalThis.gc?.();
        const elapsed = stopwatch();
        for (let time = 0; time < times; time++) await contenders[name](count);
        const { main, wall } = elapsed();
        if (round < 0) continue;
        found[name][at].main.push(main / times / count / 1_000);
        found[name][at].wall.push(wall / times / count / 1_000);
      }
    }
  }
  report.table(
    "main thread, µs a flight",
    ["flights at once", ...names],
    COUNTS.map((count, at) => [count.toLocaleString("en-US"), ...names.map((name) => figure(found[name][at].main))]),
  );
  report.table(
    "wall, µs a flight",
    ["flights at once", ...names],
    COUNTS.map((count, at) => [count.toLocaleString("en-US"), ...names.map((name) => figure(found[name][at].wall))]),
  );
  report.plot({
    name: "scale-flights",
    kind: "lines",
    title: "One flight among many",
    x: { title: "flights at once" },
    y: { title: "main thread, µs a flight" },
    series: names.map((name) => ({
      name,
      points: COUNTS.map((count, at) => ({ x: count, ...figure(found[name][at].main) })),
    })),
  });
  const total = (name) =>
    COUNTS.map((n, at) => ({ n, values: found[name][at].main.map((us) => us * n) })).filter(
      ({ n }) => n >= JUDGED_FROM,
    );
  const exponents = names.map((name) => exponent(total(name)));
  report.table(
    `all flights together grow with their number to the power of, from ${JUDGED_FROM} on`,
    ["", "power"],
    names.map((name, at) => [name, exponents[at]]),
  );
  // The worse of ours.
  report.measure("scale-flights", exponents[0].median > exponents[1].median ? exponents[0] : exponents[1]);
  await source.close();
  await close();
});
