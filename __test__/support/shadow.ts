import { DialCache, type DialCacheConfig, DialCacheKeyConfig, type Serializer } from "dialcache-native";
import { installClock, type ManualClock, manualClock } from "dialcache-native/testing";
import { onTestFinished, vi } from "vitest";
import { type ReadResult, ScriptedClient } from "./clients";
import { type LoggerRecorder, type MetricsRecorder, recordLogger, recordMetrics } from "./recorders";
import { JSON_SERIALIZER } from "./rig";

/** Redis only, every key shadowed: hits are served and compared. */
export const SERVED = new DialCacheKeyConfig({ ttlSec: { remote: 60 }, shadow: { ramp: 100 } });
/** The same with no key in the Redis layer's ramp: nothing is served, Redis is compared or filled. */
export const RAMPED_DOWN = new DialCacheKeyConfig({
  ttlSec: { remote: 60 },
  ramp: { remote: 0 },
  shadow: { ramp: 100 },
});

/** What a read answers: a payload, nothing, a rejection, or a promise of the test's. */
export type Reply = ReadResult | Error | Promise<ReadResult>;

export interface ShadowOptions {
  readonly config?: DialCacheKeyConfig;
  /** What reads answer, in their order. More reads than these fail the test. */
  readonly replies?: readonly Reply[];
  readonly serializer?: Serializer<unknown>;
  readonly comparator?: (cached: unknown, source: unknown) => unknown;
  readonly fallbackTimeoutMs?: number | null;
  readonly instance?: Omit<DialCacheConfig, "redis">;
}

/** A cache over a scripted client, by the manual clock, with read deadline 50. */
export interface ShadowWorld {
  readonly cache: DialCache;
  readonly client: ScriptedClient;
  readonly clock: ManualClock;
  readonly metrics: MetricsRecorder;
  readonly log: LoggerRecorder;
  /** The source: give it results with `mockResolvedValue` and the like. */
  readonly source: ReturnType<typeof vi.fn<(id: string) => unknown>>;
  /** A call in a scope of its own. */
  load(id?: string): Promise<unknown>;
  /** Lets everything go on that needs no time. */
  settle(): Promise<void>;
  /** Outcomes so far, with their counts. */
  outcomes(): Readonly<Record<string, number>>;
  inFlight(): number;
}

export const USE_CASE = "GetUser";

export function shadowWorld(options: ShadowOptions = {}): ShadowWorld {
  const clock = manualClock({ wallNow: 1_700_000_000_000 });
  onTestFinished(installClock(clock));
  const client = new ScriptedClient();
  const replies = [...(options.replies ?? [])];
  client.autoRead = () => {
    if (replies.length === 0) throw new Error("an unexpected read");
    const reply = replies.shift() as Reply;
    if (reply instanceof Error) throw reply;
    return reply;
  };
  const metrics = recordMetrics();
  const log = recordLogger();
  const cache = new DialCache({
    redis: { client, readTimeoutMs: 50 },
    metrics: metrics.adapter,
    logger: log.logger,
    ...options.instance,
  });
  onTestFinished(() => cache.close());
  const source = vi.fn<(id: string) => unknown>();
  const call = cache.cached((id: string): unknown => source(id), {
    keyType: "user_id",
    useCase: USE_CASE,
    cacheKey: (id) => id,
    defaultConfig: options.config ?? SERVED,
    serializer: options.serializer ?? JSON_SERIALIZER,
    fallbackTimeoutMs: options.fallbackTimeoutMs === undefined ? 1_000 : options.fallbackTimeoutMs,
    ...(options.comparator === undefined ? {} : { shadowComparator: options.comparator as () => boolean }),
  });
  return {
    cache,
    client,
    clock,
    metrics,
    log,
    source,
    load: (id = "1") => cache.enable(() => call(id)),
    settle: () => clock.advance(0),
    outcomes: () => cache.stats().useCases[USE_CASE]?.shadow ?? {},
    inFlight: () => cache.stats().shadow.inFlight,
  };
}

/** A payload of the default serializer, as a client answers it. */
export function stored(value: unknown, createdAtMs?: number): ReadResult {
  const payload = JSON.stringify(value);
  return createdAtMs === undefined ? payload : { payload, createdAtMs };
}
