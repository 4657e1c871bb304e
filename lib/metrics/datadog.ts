import type { Countable } from "../figures";
import { makeAttachable } from "../observers";
import { invalid, optionNames, type Place, readOptions, refuse, withMethods } from "../option-reader";
import { COUNTED, GAUGES, type Metric, OBSERVED, tagsOf } from "./catalogue";
import { DeltaReporter, type FlushableDialCacheMetrics } from "./deltas";
import { hooksOf } from "./hooks";

export type { FlushableDialCacheMetrics };

/** What is needed of a DogStatsD client such as hot-shots'. */
export interface DatadogDogStatsDClient {
  increment(name: string, value: number, tags?: Record<string, string>): unknown;
  histogram(name: string, value: number, tags?: Record<string, string>): unknown;
  distribution(name: string, value: number, tags?: Record<string, string>): unknown;
  /** Without it, what goes up and down is not sent. */
  gauge?(name: string, value: number, tags?: Record<string, string>): unknown;
}

/** How durations and sizes are sent: aggregated over all hosts, or by each host's agent. */
export type DatadogObservationMetricType = "distribution" | "histogram";

/** Options of {@link createDatadogDialCacheMetrics}. */
export interface DatadogMetricsOptions {
  /** The service's own client: never flushed or closed here. */
  readonly client: DatadogDogStatsDClient;
  /** Required, for the two are billed and queried differently. */
  readonly observationMetricType: DatadogObservationMetricType;
  /** Before each metric's name, with a dot between. Default: `"dialcache"`. */
  readonly namespace?: string | undefined;
}

const PLACE: Place = { api: "createDatadogDialCacheMetrics()", path: "" };
const OPTIONS = optionNames("client", "observationMetricType", "namespace");
const NAMESPACE = /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$/;
const LONGEST_NAME = 200;
const LONGEST_NAMESPACE =
  LONGEST_NAME - 1 - Math.max(...[COUNTED, OBSERVED, GAUGES].flatMap(Object.values).map(({ dotted }) => dotted.length));

/**
 * A metrics adapter for Datadog, with the names and tags of DialCache for TypeScript. Durations (in seconds) and sizes (in
 * bytes) are sent as they happen. The counters of instances that are given the adapter are sent every 10 seconds, as far
 * as they grew; a process that ends in between calls `flush()` first.
 * @throws TypeError or RangeError naming a bad option.
 */
export function createDatadogDialCacheMetrics(options: DatadogMetricsOptions): FlushableDialCacheMetrics {
  const { client: given, observationMetricType, namespace } = readOptions(options, PLACE, OPTIONS);
  const methods = ["increment", "histogram", "distribution"];
  const client = withMethods<DatadogDogStatsDClient>(given, PLACE, "client", methods);
  const type = typeOption(observationMetricType);
  const prefix = namespace === undefined ? "dialcache" : namespaceOption(namespace);
  const name = (metric: Metric): string => `${prefix}.${metric.dotted}`;

  const reporter = new DeltaReporter(
    (hook, tags, delta) => client.increment(name(COUNTED[hook]), delta, { ...tags }),
    ({ gauge, labels, value }) => client.gauge?.(name(GAUGES[gauge]), value, tagsOf(GAUGES[gauge], labels)),
  );
  const hooks = hooksOf({
    count: (hook, labels) => client.increment(name(COUNTED[hook]), 1, tagsOf(COUNTED[hook], labels)),
    observe: (hook, labels, value) => client[type](name(OBSERVED[hook]), value, tagsOf(OBSERVED[hook], labels)),
  });
  const adapter = { ...hooks, flush: (): void => void reporter.flush() };
  const attach = (figures: Countable, owner: object): void => reporter.attach(figures, owner);
  makeAttachable(adapter, { hooks, attach });
  return adapter;
}

function typeOption(value: unknown): DatadogObservationMetricType {
  if (value === "distribution" || value === "histogram") return value;
  throw refuse(value, PLACE, "observationMetricType", "string", '"distribution" or "histogram"');
}

function namespaceOption(value: unknown): string {
  if (typeof value !== "string" || !NAMESPACE.test(value)) {
    throw refuse(value, PLACE, "namespace", "string", "words of letters, digits and _, with dots between them");
  }
  if (value.length <= LONGEST_NAMESPACE) return value;
  const message = `namespace must have at most ${LONGEST_NAMESPACE} characters: names of metrics end at ${LONGEST_NAME}`;
  throw invalid(RangeError, PLACE, "namespace", message);
}
