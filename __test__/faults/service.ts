import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { realDelay } from "../support/real-time";
import type { FaultClient } from "./clients";
import { CLUSTER_NODES, type RoundPlan } from "./plan";

/** What the source gives: it names itself, so that nobody takes it for another. */
export interface Item {
  readonly useCase: string;
  readonly id: string;
  readonly version: number;
  readonly pad: string;
}

export const USE_CASES = ["Tracked", "Untracked"] as const;
export type UseCase = (typeof USE_CASES)[number];

export const KEY_TYPE = "user_id";

/** Where the items come from, shared by all caches of a round. */
export class Origin {
  readonly #versions = new Map<string, number>();
  readonly #plan: RoundPlan;
  runs = 0;

  constructor(plan: RoundPlan) {
    this.#plan = plan;
  }

  version(id: string): number {
    return this.#versions.get(id) ?? 1;
  }

  /** Changes an item, and says what its version is now. */
  change(id: string): number {
    const version = this.version(id) + 1;
    this.#versions.set(id, version);
    return version;
  }

  async load(useCase: UseCase, id: string): Promise<Item> {
    this.runs += 1;
    const version = this.version(id);
    await realDelay(this.#plan.sourceMs);
    return { useCase, id, version, pad: padOf(useCase, id, version, this.#plan.valueBytes) };
  }
}

/** Text that only this item has. */
export function padOf(useCase: UseCase, id: string, version: number, bytes: number): string {
  const unit = `${useCase} ${id} v${version};`;
  return unit.repeat(Math.ceil(bytes / unit.length));
}

/** One process's cache, as far as the rounds are concerned. */
export interface Service {
  readonly client: FaultClient;
  readonly cache: DialCache;
  readonly log: string[];
  load(useCase: UseCase, id: string): Promise<Item>;
  /** A read of a server's that the process keeps nothing of; whether it was a hit. */
  probe(node: number, id: string): Promise<boolean>;
}

export function startService(plan: RoundPlan, client: FaultClient, origin: Origin, namespace: string): Service {
  const log: string[] = [];
  const write = (...parts: unknown[]) => void log.push(parts.map(String).join(" "));
  const cache = new DialCache({
    namespace,
    redis: { client: client.client, readTimeoutMs: plan.readTimeoutMs },
    logger: { warn: write, error: write, debug: write },
    shadowMaxInFlight: 4,
  });
  const remote = { ttlSec: { remote: 60 } };
  const register = (name: UseCase, useCase: string, local: boolean, trackForInvalidation: boolean) =>
    cache.cached((id: string) => origin.load(name, id), {
      keyType: KEY_TYPE,
      useCase,
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({
        ...(local ? { ttlSec: { local: 1, remote: 60 } } : remote),
        ...(plan.shadow ? { shadow: { ramp: 100 } } : {}),
      }),
      trackForInvalidation,
      fallbackTimeoutMs: 10_000,
      ...(plan.hedgeMs === undefined ? {} : { readHedge: { delayMs: plan.hedgeMs } }),
    });
  const loads = {
    Tracked: register("Tracked", "Tracked", plan.local, true),
    Untracked: register("Untracked", "Untracked", plan.local, false),
  };
  // One use case for each server: what is counted of a probe is its own.
  const probes = Array.from({ length: CLUSTER_NODES }, (_, node) => {
    return register("Untracked", probeName(node), false, false);
  });
  return {
    client,
    cache,
    log,
    load: (useCase, id) => cache.enable(() => loads[useCase](id)),
    probe: async (node, id) => {
      const hits = () => cache.stats().useCases[probeName(node)]!.hits.remote;
      const before = hits();
      await cache.enable(() => probes[node]!(id));
      return hits() > before;
    },
  };
}

/** The Redis key of a probe's value. */
export function probeKey(namespace: string, node: number, id: string): string {
  return `${encodeURIComponent(namespace)}:${KEY_TYPE}:${encodeURIComponent(id)}#${probeName(node)}:dialcache-frame-v1`;
}

function probeName(node: number): string {
  return `Probe${node}`;
}
