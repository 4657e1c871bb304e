import { COMPRESSION_COLUMNS, type Column, type UseCaseFigures } from "./figures";
import type { Instance } from "./instance";
import type { CompressionOutcome, DisabledReason, MetricErrorKind, ShadowValidationOutcome } from "./metrics";
import { RedisClient, type RedisClientStats } from "./redis-client";
import type { SourceStats } from "./source-stats";
import type { CoalescingState } from "./types";

/** How often something happened at each layer. */
export interface LayerCounts {
  /** In an `enable()` scope. */
  readonly request_local: number;
  /** In the process. */
  readonly local: number;
  /** In Redis. */
  readonly remote: number;
}

/** Skipped lookups by reason. */
export type DisabledCounts = Readonly<Partial<Record<DisabledReason, number>>>;

/** What was counted of one use case since its instance was made. */
export interface UseCaseStats {
  /** What kind of id its keys hold. */
  readonly keyType: string;
  /** Lookups in layers that were on. */
  readonly requests: LayerCounts;
  /** Lookups that found a value. */
  readonly hits: LayerCounts;
  /** Lookups that found nothing usable. Failed reads are neither hits nor misses. */
  readonly misses: LayerCounts;
  /** Calls that skipped a layer. */
  readonly disabled: { readonly local: number; readonly remote: number };
  /** The same by reason, and under `noop` calls that reached no layer. Reasons that never happened are left out. */
  readonly disabledReasons: {
    readonly noop: DisabledCounts;
    readonly local: DisabledCounts;
    readonly remote: DisabledCounts;
  };
  /** Failures by kind; kinds that never happened are left out. */
  readonly errors: Readonly<Partial<Record<MetricErrorKind, number>>>;
  /** Calls that joined a flight. */
  readonly coalesced: { readonly process: number; readonly request_local: number };
  /** Read deadlines armed: one for each leader that really read Redis. */
  readonly readDeadlinesArmed: number;
  /** Reads given up at their deadline. */
  readonly readTimeouts: number;
  /** Reads that failed otherwise: Redis could not be asked, or answered with an error. */
  readonly readFailures: number;
  /** Payloads the serializer rejected: misses. */
  readonly loadFailures: number;
  /** Values the serializer could not dump, which were therefore not written. */
  readonly dumpFailures: number;
  /** Reads beside which the source was started, or would have been: see `readHedge`. */
  readonly readHedge: {
    /** The read brought a value first. */
    readonly hits: number;
    /** The source did. */
    readonly outruns: number;
    /** The source failed while the read was pending. */
    readonly sourceErrors: number;
    /** The budget let no source start. */
    readonly denied: number;
  };
  /** Sources given up at their deadline. */
  readonly fallbackTimeouts: number;
  /** Source runs of calls in an enabled scope that threw or rejected in time. */
  readonly fallbackFailures: number;
  /** Source runs begun, without those for a comparison only. */
  readonly sourceCalls: number;
  /** Values meant for Redis. */
  readonly writes: {
    /** Taken by the server. */
    readonly ok: number;
    /** Refused because the id had been invalidated. */
    readonly fenced: number;
    readonly failed: number;
    /** Kept back because the read had failed. */
    readonly skipped: number;
  };
  /** Shadow validations by outcome; outcomes that never happened are left out. */
  readonly shadow: Readonly<Partial<Record<ShadowValidationOutcome, number>>>;
  /** Payloads by what became of them in the compressor; outcomes that never happened are left out. */
  readonly compression: Readonly<Partial<Record<CompressionOutcome, number>>>;
}

/** What was counted of `invalidateRemote()` for one key type. */
export interface InvalidationStats {
  /** Invalidations asked of Redis. */
  readonly calls: number;
  /** Those that failed. */
  readonly failed: number;
}

/** What `DialCache.stats()` returns: a detached snapshot. */
export interface DialCacheStats {
  /** By name of the use case. */
  readonly useCases: Readonly<Record<string, UseCaseStats>>;
  /** By key type. */
  readonly invalidations: Readonly<Record<string, InvalidationStats>>;
  /** The process-local layer. */
  readonly local: {
    /** Entries of the process-local layer. */
    readonly entries: number;
    /** The most it keeps. */
    readonly maxEntries: number;
  };
  /** Flights that may be joined. */
  readonly flights: {
    /** Leaders whose callers wait. */
    readonly active: number;
    /** Callers that joined them. */
    readonly followers: number;
    /** Answered ones that may still be joined while their write goes on. */
    readonly lingering: number;
  };
  /** Deadlines kept here and on the native thread. */
  readonly timers: {
    /** Deadlines pending now: of reads, of sources, of flights that linger, and of shadow validations. */
    readonly armed: number;
  };
  /** Values on their way to Redis, those included that a shadow validation may still write. */
  readonly pendingWrites: number;
  /** Shadow validations. */
  readonly shadow: {
    /** Those that hold a place: under way, or over and waiting for what they began. */
    readonly inFlight: number;
    /** The most at once. */
    readonly maxInFlight: number;
  };
  /** Sources that stand in place of functions, by name; of two that have one name, the one that came last. */
  readonly sources: Readonly<Record<string, SourceStats>>;
  /** Figures of the native Redis client, owned or given; null without one. */
  readonly client: RedisClientStats | null;
}

/** A snapshot of everything counted. */
export function snapshot(instance: Instance): DialCacheStats {
  instance.tick();
  const gauges = instance.engine.gauges();
  return {
    useCases: useCases(instance),
    invalidations: instance.figures.invalidations(),
    local: { entries: gauges.localEntries, maxEntries: instance.localMaxSize },
    flights: { active: gauges.leaders, followers: gauges.followers, lingering: gauges.lingering },
    timers: { armed: instance.armedTimers },
    pendingWrites: instance.pendingWrites,
    shadow: { inFlight: gauges.shadows, maxInFlight: instance.shadowMaxInFlight },
    sources: instance.sources.stats(),
    client: instance.client instanceof RedisClient ? instance.client.stats() : null,
  };
}

/** The flights that are not answered yet. */
export function coalescingState(instance: Instance): CoalescingState {
  instance.tick();
  const { leaders, followers, oldestLeaderAgeMs } = instance.engine.gauges();
  return {
    process: {
      activeLeaders: leaders,
      activeFollowers: followers,
      oldestLeaderAgeMs: oldestLeaderAgeMs ?? null,
    },
  };
}

function useCases(instance: Instance): Record<string, UseCaseStats> {
  const stats: Record<string, UseCaseStats> = Object.create(null);
  for (const figures of instance.figures.useCases()) {
    const { keyType, useCase } = figures;
    // Inline operations may give one name to two key types.
    stats[useCase in stats ? `${useCase} (${keyType})` : useCase] = useCaseStats(figures);
  }
  return stats;
}

function useCaseStats(figures: UseCaseFigures): UseCaseStats {
  const { tally } = figures;
  const count = (column: Column): number => figures.native(column);
  const disabled = disabledReasons(figures);
  return {
    keyType: figures.keyType,
    requests: {
      request_local: tally.requestLocalRequests,
      local: count("localRequests"),
      remote: count("remoteRequests"),
    },
    hits: { request_local: tally.requestLocalHits, local: count("localHits"), remote: count("remoteHits") },
    misses: { request_local: tally.requestLocalMisses, local: count("localMisses"), remote: count("remoteMisses") },
    disabled: { local: sum(disabled.local), remote: sum(disabled.remote) },
    disabledReasons: disabled,
    errors: errors(figures),
    coalesced: { process: count("coalesced"), request_local: tally.requestLocalCoalesced },
    readDeadlinesArmed: count("readDeadlinesArmed"),
    readTimeouts: count("readTimeouts"),
    readFailures: count("readFailures"),
    loadFailures: count("loadFailures"),
    dumpFailures: count("dumpFailures"),
    readHedge: {
      hits: count("readHedgeHits"),
      outruns: count("readHedgeOutruns"),
      sourceErrors: count("readHedgeSourceErrors"),
      denied: count("readHedgeDenials"),
    },
    fallbackTimeouts: count("sourceTimeouts"),
    fallbackFailures: count("sourceFailures"),
    sourceCalls: count("sourceCalls"),
    writes: {
      ok: count("writesOk"),
      fenced: count("writesFenced"),
      failed: count("writesFailed"),
      skipped: count("writesSkipped"),
    },
    shadow: tally.shadows(),
    compression: compression(figures),
  };
}

function disabledReasons(figures: UseCaseFigures): UseCaseStats["disabledReasons"] {
  const of = (layer: "local" | "remote"): DisabledCounts =>
    present({
      policy_disabled: figures.native(`${layer}PolicyDisabled`),
      invalid_ttl: figures.native(`${layer}InvalidTtl`),
      invalid_ramp: figures.native(`${layer}InvalidRamp`),
      ramped_down: figures.native(`${layer}RampedDown`),
    });
  const { contextDisabled, configErrors } = figures.tally;
  return {
    noop: present({ context: contextDisabled, config_error: configErrors }),
    local: of("local"),
    remote: of("remote"),
  };
}

function errors(figures: UseCaseFigures): UseCaseStats["errors"] {
  const kinds = figures.tally.errors();
  const columns = ["localInvalidTtl", "localInvalidRamp", "remoteInvalidTtl", "remoteInvalidRamp"] as const;
  const invalid = columns.reduce((total, column) => total + figures.native(column), 0);
  return present({ ...kinds, config_resolution: (kinds.config_resolution ?? 0) + invalid });
}

function compression(figures: UseCaseFigures): UseCaseStats["compression"] {
  const elsewhere = figures.tally.compressions();
  const counts = Object.entries(COMPRESSION_COLUMNS).map(([outcome, column]) => {
    return [outcome, figures.native(column) + (elsewhere[outcome as CompressionOutcome] ?? 0)];
  });
  return present(Object.fromEntries(counts));
}

function present<Counts extends Readonly<Record<string, number | undefined>>>(counts: Counts): Partial<Counts> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => (count ?? 0) > 0)) as Partial<Counts>;
}

function sum(counts: DisabledCounts): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
