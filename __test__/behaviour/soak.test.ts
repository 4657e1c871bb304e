import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { installClock, manualClock } from "dialcache-native/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { ScriptedClient, type ScriptedRead, type ScriptedWrite } from "../support/clients";
import { type Deferred, deferred } from "../support/deferred";
import { turns } from "../support/real-time";
import { recordLogger, recordMetrics } from "../support/recorders";
import { loader } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

/** A small generator with a seed: a failing run can be run again (mulberry32). */
function random(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const CONFIGS: readonly DialCacheKeyConfig[] = [
  new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
  DialCacheKeyConfig.enabled(60),
  new DialCacheKeyConfig({ ttlSec: { remote: 60 }, coalesce: false }),
  new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true }),
];

const KEYS = 3;
const STEPS = 400;

interface PendingSource extends Deferred<string> {
  readonly id: string;
}

describe("Any order of calls, replies, results, writes and time", () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed))(
    "every call is answered by its own key's Redis value, source value or source error, and nothing is left over (seed %d)",
    async (seed) => {
      const pick = random(seed + 1);
      const clock = manualClock();
      onTestFinished(installClock(clock));
      const client = new ScriptedClient();
      const metrics = recordMetrics();
      const log = recordLogger();
      const cache = new DialCache({
        redis: { client, readTimeoutMs: 50 },
        metrics: metrics.adapter,
        logger: log.logger,
      });
      const sources: PendingSource[] = [];
      const load = loader(
        cache,
        "Soak",
        (id) => {
          const source = Object.assign(deferred<string>(), { id });
          sources.push(source);
          return source.promise;
        },
        { defaultConfig: CONFIGS[seed % CONFIGS.length] as DialCacheKeyConfig, fallbackTimeoutMs: 200 },
      );
      const calls: Promise<void>[] = [];
      let answered = 0;
      const settled = new Set<string>();
      const unsettled = <T extends Deferred<never>>(list: readonly unknown[]) =>
        (list as T[]).filter((item) => !item.settled);

      const call = () => {
        const id = String(pick(KEYS));
        calls.push(
          load(id).then(
            (value) => {
              answered += 1;
              expect(value).toMatch(new RegExp(`^(redis|source) of ${id} `));
              expect(settled).toContain(value);
            },
            (error: Error) => {
              answered += 1;
              expect(error.message).toMatch(new RegExp(`^no ${id} |${"Soak"}`));
            },
          ),
        );
      };
      let serial = 0;
      const answerRead = (read: ScriptedRead) => {
        const id = /user_id:(\d)#/.exec(read.request.valueKey)?.[1] ?? "";
        serial += 1;
        const kind = pick(5);
        if (kind < 2) {
          const value = `redis of ${id} ${serial}`;
          settled.add(value);
          read.resolve(JSON.stringify(value));
        } else if (kind === 2) {
          read.resolve(null);
        } else if (kind === 3) {
          read.reject(new Error("redis down"));
        } else {
          read.resolve("{not json");
        }
      };
      const answerSource = (source: PendingSource) => {
        serial += 1;
        if (pick(4) === 0) {
          source.reject(new Error(`no ${source.id} ${serial}`));
        } else {
          const value = `source of ${source.id} ${serial}`;
          settled.add(value);
          source.resolve(value);
        }
      };
      const answerWrite = (write: ScriptedWrite) => {
        if (pick(3) === 0) {
          write.reject(new Error("refused"));
        } else {
          write.resolve(true);
        }
      };
      const any = <T>(list: readonly T[]): T | undefined => list[pick(Math.max(list.length, 1))];

      for (let step = 0; step < STEPS; step += 1) {
        const what = pick(12);
        if (what < 4) {
          call();
        } else if (what < 6) {
          const read = any(unsettled<ScriptedRead & Deferred<never>>(client.reads));
          if (read !== undefined) answerRead(read);
        } else if (what < 8) {
          const source = any(unsettled<PendingSource & Deferred<never>>(sources));
          if (source !== undefined) answerSource(source);
        } else if (what === 8) {
          const write = any(unsettled<ScriptedWrite & Deferred<never>>(client.writes));
          if (write !== undefined) answerWrite(write);
        } else if (what === 9) {
          await clock.advance(pick(60));
        } else if (what === 10 && pick(20) === 0) {
          await clock.advance(60_000);
        } else {
          await turns(1);
        }
        const { process } = cache.getCoalescingState();
        expect(process.activeLeaders + process.activeFollowers).toBeLessThanOrEqual(calls.length - answered);
        expect(process.oldestLeaderAgeMs === null).toBe(process.activeLeaders === 0);
      }

      // Time alone must be enough to answer everybody.
      await clock.advance(50);
      await clock.advance(200);
      await clock.advance(50);
      await Promise.all(calls);
      expect(cache.getCoalescingState().process).toEqual({
        activeLeaders: 0,
        activeFollowers: 0,
        oldestLeaderAgeMs: null,
      });
      expect(cache.stats().timers.armed).toBe(0);
      // What is still under way settles late, and is heard of by nobody but the writes' own accounts.
      const errors = metrics.count("error") - metrics.count("error", { error: "cache_write" });
      const lines = log.warnings.length - metrics.count("error", { error: "cache_write" });
      for (const read of unsettled<ScriptedRead & Deferred<never>>(client.reads)) answerRead(read);
      for (const source of unsettled<PendingSource & Deferred<never>>(sources)) answerSource(source);
      for (const write of unsettled<ScriptedWrite & Deferred<never>>(client.writes)) answerWrite(write);
      await turns(5);
      expect(metrics.count("error") - metrics.count("error", { error: "cache_write" })).toBe(errors);
      expect(log.warnings.length - metrics.count("error", { error: "cache_write" })).toBe(lines);
      expect(cache.stats()).toMatchObject({
        flights: { active: 0, followers: 0, lingering: 0 },
        timers: { armed: 0 },
        pendingWrites: 0,
      });
      const counted = cache.stats().useCases["Soak" as string];
      expect(counted?.sourceCalls).toBe(sources.length);
      expect(counted?.readDeadlinesArmed).toBe(client.reads.length);
      expect((counted?.writes.ok ?? 0) + (counted?.writes.failed ?? 0)).toBe(client.writes.length);
    },
  );
});
