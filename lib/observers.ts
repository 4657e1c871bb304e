import type { Countable, Figures } from "./figures";
import { type DialCacheMetricsAdapter, type GuardedMetrics, guardMetrics, METRIC_HOOKS } from "./metrics";

/** What a leader does that is worth a span. */
export type SpanKind = "read" | "source" | "write";

/** How it ended. */
export type SpanOutcome = "hit" | "miss" | "ok" | "fenced" | "error" | "timeout" | "cancelled";

/** One span. Never throws by itself. */
export interface Span {
  /** Begins, and runs `fn` in the span's context, exactly once. */
  run<T>(fn: () => T): T;
  end(outcome: SpanOutcome): void;
}

/** Makes spans of leaders' work. */
export interface Tracing {
  span(kind: SpanKind, names: { cacheNamespace: string; useCase: string; keyType: string }): Span;
}

/** How an adapter of this package reads counters itself, instead of being told each event. */
export interface Attachable {
  /** The hooks as they were made: an adapter whose hooks were replaced wants to be told. */
  readonly hooks: DialCacheMetricsAdapter;
  /** Reads `figures` from now on; they are all that is left once `owner` was collected. */
  attach(figures: Countable, owner: object): void;
  readonly tracing?: Tracing | undefined;
}

// Beside the adapter: one that is a mock answers for every property.
const attachables = new WeakMap<object, Attachable>();

/** Makes `adapter` one that reads counters itself. A copy of it, or one with a hook replaced, is told each event. */
export function makeAttachable(adapter: DialCacheMetricsAdapter, attachable: Attachable): DialCacheMetricsAdapter {
  attachables.set(adapter, attachable);
  return adapter;
}

/** Who hears what of an instance. */
export interface Observers {
  /** Gets each event that is counted. */
  readonly events: GuardedMetrics | undefined;
  /** Gets durations and sizes. */
  readonly observations: GuardedMetrics | undefined;
  readonly tracing: Tracing | undefined;
}

/** Connects `adapter` with an instance. Nothing it does reaches a caller. */
export function connect(adapter: DialCacheMetricsAdapter | undefined, figures: Figures, owner: object): Observers {
  if (adapter === undefined) return { events: undefined, observations: undefined, tracing: undefined };
  const metrics = guardMetrics(adapter);
  const attachable = attachableOf(adapter);
  if (attachable === undefined) return { events: metrics, observations: metrics, tracing: undefined };
  attachable.attach(figures, owner);
  return { events: undefined, observations: metrics, tracing: attachable.tracing };
}

/** Connects `adapter` with a source. Answers the hooks to be told of each event, when the adapter wants that. */
export function connectSource(
  adapter: DialCacheMetricsAdapter,
  figures: Countable,
  owner: object,
): GuardedMetrics | undefined {
  const attachable = attachableOf(adapter);
  if (attachable === undefined) return guardMetrics(adapter);
  attachable.attach(figures, owner);
  return undefined;
}

function attachableOf(adapter: DialCacheMetricsAdapter): Attachable | undefined {
  const attachable = attachables.get(adapter);
  if (attachable === undefined) return undefined;
  const replaced = METRIC_HOOKS.some((hook) => adapter[hook] !== attachable.hooks[hook]);
  return replaced ? undefined : attachable;
}
