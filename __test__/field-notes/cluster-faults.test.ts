import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type AdapterKind, CLIENTS } from "../support/adapters";
import { type OpenLoop, startOpenLoop } from "../support/open-loop";
import { realDelay, until } from "../support/real-time";
import { recordLogger } from "../support/recorders";
import { type RedisCluster, startCluster } from "../support/redis-cluster";
import { useCaseStats } from "../support/rig";
import { slotOf } from "../support/slots";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const CALLS_PER_SECOND = 2_000;
const IDS = 300;
/** Calls in a row that must all be hits before hits are said to be back. */
const ROW = 400;

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());

/** A cache over a client of the cluster, half of whose entries are tracked, all of them stored; and its load. */
async function service(kind: AdapterKind, scenario: string) {
  const { client, close } = await kind.connect({ nodes: cluster.addresses });
  const namespace = `${kind.name}, ${scenario}`;
  const cache = new DialCache({ namespace, redis: { client, readTimeoutMs: 250 }, logger: recordLogger().logger });
  let loop: OpenLoop | undefined;
  onTestFinished(async () => {
    await loop?.stop();
    await cache.close();
    close();
  });
  const cached = (useCase: string, trackForInvalidation: boolean) =>
    cache.cached(async (id: string) => `${useCase} ${id}`, {
      keyType: "user_id",
      useCase,
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 600 } }),
      trackForInvalidation,
    });
  const useCases = ["Tracked", "Untracked"] as const;
  const loads = [cached("Tracked", true), cached("Untracked", false)] as const;
  const load = async (number: number) => {
    const id = String((number >> 1) % IDS);
    const value = await cache.enable(() => loads[number & 1]!(id));
    if (value !== `${useCases[number & 1]} ${id}`) throw new Error(`${value} instead of ${id}`);
  };
  const sum = (column: (stats: ReturnType<typeof useCaseStats>) => number) =>
    useCases.reduce((total, useCase) => total + column(useCaseStats(cache, useCase)), 0);
  const sourceCalls = () => sum((stats) => stats.sourceCalls);

  // Some clients learn only now where everything is.
  await until("all is stored", async () => {
    const before = sourceCalls();
    for (let number = 0; number < 2 * IDS; number += 1) await load(number);
    return sourceCalls() === before;
  });
  const running = startOpenLoop(CALLS_PER_SECOND, load);
  loop = running;
  return {
    /** The Redis keys of an id's tracked and its untracked entry: the first by its hash tag. */
    keysOf: (id: number) => {
      const group = `${encodeURIComponent(namespace)}:user_id:${id}`;
      return [`{${group}}`, `${group}#Untracked:dialcache-frame-v1`] as const;
    },
    loop: running,
    sourceCalls,
    failedReads: () => sum(({ errors }) => errors.cache_read ?? 0),
    hitsAreBack: () =>
      until(
        "hits are back",
        async () => {
          const before = { started: running.outcomes.started, sourceCalls: sourceCalls() };
          await until("a row of calls", () => running.outcomes.started >= before.started + ROW);
          return sourceCalls() === before.sourceCalls;
        },
        20_000,
      ),
  };
}

describe.each(CLIENTS)("$name, 2,000 calls a second", (kind) => {
  it("slots that move: no caller sees an error, and hits are back", async () => {
    const { keysOf, loop, hitsAreBack } = await service(kind, "moving");
    for (const key of Array.from({ length: 10 }, (_, id) => keysOf(id)).flat()) {
      const from = await cluster.primaryOf(key);
      const to = (await cluster.primaries()).find(({ id }) => id !== from.id)!;
      const migration = await cluster.startMigration(slotOf(key), to);
      // For calls that find some of its keys here and some there.
      await realDelay(10);
      await migration.finish();
    }
    await hitsAreBack();
    expect((await loop.stop()).errors).toEqual([]);
  });

  it("a killed primary, whose replica is promoted: no caller sees an error, and hits are back", async () => {
    const { keysOf, loop, hitsAreBack, failedReads } = await service(kind, "killed");
    const [key] = keysOf(0);
    const dead = await cluster.primaryOf(key);
    onTestFinished(() => cluster.settled());
    onTestFinished(() => (dead.server.isRunning ? undefined : dead.server.restart()));
    await dead.server.kill();
    await until("the replica is promoted", async () => {
      const owner = await cluster.primaryOf(key).catch(() => undefined);
      return owner !== undefined && owner.id !== dead.id;
    });
    // Some ask who serves what only when a node sends them elsewhere, and a dead one does not.
    if (kind.needsRedirection) await dead.server.restart();
    await hitsAreBack();
    expect(failedReads()).toBeGreaterThan(0);
    expect((await loop.stop()).errors).toEqual([]);
  });
});
