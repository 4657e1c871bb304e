import type { DialCacheMetricsAdapter } from "./metrics";
import type { SourceCore } from "./source-core";
import { type SourceStats, sourceStats } from "./source-stats";

/** The sources that one instance's use cases call. */
export class UsedSources {
  readonly #metrics: DialCacheMetricsAdapter | undefined;
  /** By name, which bounds them: an inline call may make its source anew each time. */
  readonly #byName = new Map<string, SourceCore>();

  constructor(metrics: DialCacheMetricsAdapter | undefined) {
    this.#metrics = metrics;
  }

  /** Counts `source` too: in the instance's figures, and for its metrics adapter. */
  add(source: SourceCore): void {
    if (this.#byName.get(source.name) === source) return;
    this.#byName.set(source.name, source);
    source.connect(this.#metrics);
  }

  stats(): Record<string, SourceStats> {
    const stats: Record<string, SourceStats> = Object.create(null);
    for (const [name, source] of this.#byName) stats[name] = sourceStats(source);
    return stats;
  }
}
