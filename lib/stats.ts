import type { Instance } from "./instance";
import type { MetricErrorKind } from "./metrics";
import type { Operation } from "./operation";
import { RedisClient, type RedisClientStats } from "./redis-client";
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
  /** Failures by kind; kinds that never happened are left out. */
  readonly errors: Readonly<Partial<Record<MetricErrorKind, number>>>;
  /** Calls that joined a flight. */
  readonly coalesced: { readonly process: number; readonly request_local: number };
  /** Read deadlines armed: one for each leader that really read Redis. */
  readonly readDeadlinesArmed: number;
  /** Reads given up at their deadline. */
  readonly readTimeouts: number;
  /** Sources given up at their deadline. */
  readonly fallbackTimeouts: number;
  /** Source runs begun. */
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
}

/** What `DialCache.stats()` returns: a detached snapshot. */
export interface DialCacheStats {
  /** By name of the use case. */
  readonly useCases: Readonly<Record<string, UseCaseStats>>;
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
    /** Deadlines pending now: of reads, of sources, and of flights that linger. */
    readonly armed: number;
  };
  /** Values on their way to Redis. */
  readonly pendingWrites: number;
  /** Figures of the native Redis client, owned or given; null without one. */
  readonly client: RedisClientStats | null;
}

/** A snapshot of everything counted. */
export function snapshot(instance: Instance, operations: Iterable<Operation>): DialCacheStats {
  instance.tick();
  const gauges = instance.engine.gauges();
  return {
    useCases: useCases(instance, operations),
    local: { entries: gauges.localEntries, maxEntries: instance.localMaxSize },
    flights: { active: gauges.leaders, followers: gauges.followers, lingering: gauges.lingering },
    timers: { armed: instance.armedTimers },
    pendingWrites: instance.pendingWrites,
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

function useCases(instance: Instance, operations: Iterable<Operation>): Record<string, UseCaseStats> {
  const counted = instance.engine.counters();
  const stats: Record<string, UseCaseStats> = Object.create(null);
  for (const { keyType, useCase, tracked, recorder } of operations) {
    const native = counted.find(
      (counters) => counters.useCase === useCase && counters.keyType === keyType && counters.tracked === tracked,
    );
    if (native === undefined) continue;
    const { counts } = recorder;
    // Inline operations may give one name to two key types.
    const name = useCase in stats ? `${useCase} (${keyType})` : useCase;
    stats[name] = {
      keyType,
      requests: {
        request_local: counts.requestLocalRequests,
        local: native.localRequests,
        remote: native.remoteRequests,
      },
      hits: { request_local: counts.requestLocalHits, local: native.localHits, remote: native.remoteHits },
      misses: { request_local: counts.requestLocalMisses, local: native.localMisses, remote: native.remoteMisses },
      disabled: { local: native.localDisabled, remote: native.remoteDisabled },
      errors: Object.fromEntries(counts.errors),
      coalesced: { process: native.coalesced, request_local: counts.requestLocalCoalesced },
      readDeadlinesArmed: native.readDeadlinesArmed,
      readTimeouts: native.readTimeouts,
      fallbackTimeouts: native.sourceTimeouts,
      sourceCalls: native.sourceCalls,
      writes: {
        ok: native.writesOk,
        fenced: native.writesFenced,
        failed: native.writesFailed,
        skipped: native.writesSkipped,
      },
    };
  }
  return stats;
}
