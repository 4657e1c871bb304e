// How long the event loop is kept from its timers while 512 reads are always in flight.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { figure } from "./support/figures.mjs";
import { filled, PLAIN } from "./support/filled.mjs";
import { startRedis } from "./support/redis.mjs";
import { workload } from "./support/workload.mjs";

const WIDTH = 512;
const ROUNDS = 3;
const WARM_UP_MS = 300;
/** The sampling timer's period; it is in no figure: the delay is what comes on top. */
const RESOLUTION_MS = 1;
const SIZES = [
  { name: "1 KB", id: "loop-delay-1KB", bytes: 1_024, ms: 1_200 },
  { name: "256 KB", id: "loop-delay-256KB", bytes: 256 << 10, ms: 3_000 },
];

/** Keeps `WIDTH` reads in flight for a while; the delay's p50, p99 and most in ms, and reads per second. */
async function load(get, ids, ms) {
  let running = true;
  let reads = 0;
  const lane = async (first) => {
    for (let key = first; running; key = (key + WIDTH) % ids.length) {
      await get(ids[key]);
      reads += 1;
    }
  };
  const lanes = Array.from({ length: WIDTH }, (_, first) => lane(first));
  await sleep(WARM_UP_MS);
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const before = reads;
  const began = performance.now();
  await sleep(ms);
  delay.disable();
  const seconds = (performance.now() - began) / 1_000;
  const rate = (reads - before) / seconds;
  running = false;
  await Promise.all(lanes);
  const beyond = (ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS);
  return { p50: beyond(delay.percentile(50)), p99: beyond(delay.percentile(99)), max: beyond(delay.max), rate };
}

await workload(`event-loop delay, ${WIDTH} reads always in flight`, async (report) => {
  for (const { name, id, bytes, ms } of SIZES) {
    const server = await startRedis();
    // More than are ever in flight, so that no two reads share a flight.
    const clients = await filled(server, WIDTH + 1, bytes);
    const { ids, dialcache, readers } = clients;
    const contenders = {
      "dialcache-native": () => dialcache.cache.enable(() => load(dialcache.get, ids, ms)),
      [PLAIN]: () => load(readers[PLAIN], ids, ms),
    };
    const names = Object.keys(contenders);
    const rounds = Object.fromEntries(names.map((contender) => [contender, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const contender of names) rounds[contender].push(await contenders[contender]());
    }
    const of = (contender, kind) => figure(rounds[contender].map((round) => round[kind]));
    report.table(
      `${name} of JSON, parsed`,
      ["", "delay p50 ms", "p99 ms", "most ms", "reads/s"],
      names.map((contender) => [contender, ...["p50", "p99", "max", "rate"].map((kind) => of(contender, kind))]),
    );
    report.measure(id, of(names[0], "p99"));
    await clients.close();
    server.end();
  }
});
