/** What the phases share: each is a process of its own, so that none measures what another left behind. */
import { createRequire } from "node:module";
import { seeded } from "../demo/random.mjs";
import { RedisServer } from "../demo/servers.mjs";
import { Gauge } from "./gauge.mjs";

/** The compiled package, as users load it. */
export const entry = createRequire(import.meta.url).resolve("../../dist/index.js");
export const dialcache = createRequire(import.meta.url)(entry);

const SAMPLES = 40;

/**
 * Runs `batch` until it has done `count` units, with samples of the memory between, and then `problems`.
 *
 * @param batch does one batch and answers how many units that were
 * @param noise shares of growth that are none, where they differ from the usual ones
 * @param problems names what is left over at the end
 */
export async function soak({ name, unit, count, batch, problems, noise }) {
  const gauge = new Gauge(unit, noise);
  let done = 0;
  for (let sample = 1; sample <= SAMPLES; sample++) {
    const until = (count * sample) / SAMPLES;
    while (done < until) done += await batch(done);
    await gauge.sample(done);
  }
  const found = [...gauge.report(name), ...(await problems())];
  for (const problem of found) process.stderr.write(`${problem}\n`);
  process.exitCode = found.length > 0 ? 1 : 0;
}

/** The number that a phase is started with, and its randomness. */
export function given() {
  const [count, seed] = process.argv.slice(2).map(Number);
  return { count, seed, random: seeded(seed) };
}

export async function withRedis(run) {
  const server = await RedisServer.start();
  try {
    await run(server);
  } finally {
    server.end();
  }
}

/** Names figures of caches that are not what an idle cache has. */
export function leftovers(caches) {
  return Object.entries(caches).flatMap(([name, cache]) => {
    const { flights, timers, pendingWrites, client } = cache.stats();
    const rest = {
      ...flights,
      ...timers,
      pendingWrites,
      pending: client?.pending ?? 0,
      bytes: client?.pendingBytes ?? 0,
    };
    return Object.entries(rest)
      .filter(([, value]) => value !== 0)
      .map(([figure, value]) => `${name}: ${figure} is ${value} at the end`);
  });
}
