import type { DialCacheMetricsAdapter } from "../metrics";
import type { CountingHook, LabelsOf } from "../tally";
import { COUNTING_HOOKS, type HookLabels, OBSERVING_HOOKS, type ObservingHook } from "./catalogue";

/** Where a backend's events go. What it returns is handed on, so that a rejection can be dealt with. */
export interface Backend {
  count(hook: CountingHook, labels: LabelsOf<CountingHook>): unknown;
  observe(hook: ObservingHook, labels: HookLabels, value: number): unknown;
}

/** An adapter whose hooks are functions of its own, so that they may be taken off it, copied or called alone. */
export function hooksOf(backend: Backend): Required<DialCacheMetricsAdapter> {
  const hooks: Record<string, unknown> = {};
  for (const hook of COUNTING_HOOKS) {
    hooks[hook] = (labels: LabelsOf<CountingHook>): unknown => backend.count(hook, labels);
  }
  for (const hook of OBSERVING_HOOKS) {
    hooks[hook] = (labels: HookLabels, value: number): unknown => backend.observe(hook, labels, value);
  }
  return hooks as unknown as Required<DialCacheMetricsAdapter>;
}
