/** A real redis-server whose replies are sometimes late: the read deadline alone, and with the read hedged besides. */
import { hold, release } from "../children.mjs";
import { startSource } from "../run.mjs";
import { RedisServer } from "../servers.mjs";
import { compare, logOf } from "./compare.mjs";
import { callFigures } from "./figures.mjs";
import { READS } from "./settings.mjs";
import { SlowProxy } from "./slow-proxy.mjs";

const TITLES = { deadline: "read deadline alone", hedged: "hedged read" };

/** Runs the comparison; resolves to its sides, each with its figures and its calls' latencies. */
export async function compareReads(progress) {
  const redis = hold(await RedisServer.start());
  const names = Object.keys(TITLES);
  const proxies = [];
  const sources = [];
  try {
    for (const _ of names) {
      proxies.push(hold(await SlowProxy.start(redis.port)));
      sources.push(await startSource());
    }
    const places = Object.fromEntries(
      names.map((name, i) => [name, { redisUrl: proxies[i].url, sourceUrl: sources[i].url }]),
    );
    const { traffic, durationMs, late } = READS;
    const onBegin = () => {
      for (const proxy of proxies) proxy.begin(late);
    };
    const run = await compare("read", { places, traffic, durationMs, onBegin, progress });
    const logs = await Promise.all(sources.map((source) => logOf(source, run.begin)));
    const sides = names.map((name, i) => ({
      name,
      title: TITLES[name],
      latencyMs: run.sides[name].latencyMs,
      firstError: run.sides[name].firstError,
      ...callFigures(run.sides[name]),
      sourceCalls: logs[i].length,
      extraCalls: logs[i].length - logs[0].length,
      ...proxies[i].counts,
      readHedge: run.figures[name],
    }));
    return { sides, warnings: run.warnings };
  } finally {
    for (const thing of [...proxies, ...sources, redis]) release(thing);
  }
}
