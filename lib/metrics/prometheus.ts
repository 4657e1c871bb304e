import type { Countable, GaugeName } from "../figures";
import type { DialCacheMetricsAdapter } from "../metrics";
import { makeAttachable } from "../observers";
import { invalid, optionNames, type Place, readOptions, refuse, withMethods } from "../option-reader";
import type { CountingHook } from "../tally";
import {
  COUNTED,
  COUNTING_HOOKS,
  GAUGE_NAMES,
  GAUGES,
  OBSERVED,
  OBSERVING_HOOKS,
  type ObservingHook,
  tagsOf,
} from "./catalogue";
import { hooksOf } from "./hooks";
import { Ledger, type Total } from "./ledger";
import { CounterMetric, GaugeMetric, HistogramMetric, type Level } from "./prometheus-metrics";

/** What is needed of prom-client's `Registry`. */
export interface PrometheusRegistry {
  registerMetric(metric: never): void;
  getSingleMetric(name: string): unknown;
}

/** Options of {@link createPrometheusDialCacheMetrics}. */
export interface PrometheusMetricsOptions {
  /** The service's own registry. Nothing but metrics is ever put into it, and nothing taken out. */
  readonly registry: PrometheusRegistry;
  /** Before each metric's name, as it stands: `"myapp_"` makes `myapp_dialcache_request_counter`. Default: none. */
  readonly prefix?: string | undefined;
}

const PLACE: Place = { api: "createPrometheusDialCacheMetrics()", path: "" };
const OPTIONS = optionNames("registry", "prefix");

/** Where a set of another copy of this package is found: on its metrics. */
const HOOKS = Symbol.for("dialcache-native.prometheus.hooks");

/** By registry, then by prefix. */
const sets = new WeakMap<object, Map<string, PrometheusSet>>();

/**
 * A metrics adapter for Prometheus: metrics in a registry of prom-client 15 that the service owns, with the names and
 * labels of DialCache for TypeScript.
 *
 * Instances that are given the adapter are summed. Their counters are read when the registry is scraped, and cost a call
 * nothing; only durations and sizes, of calls that reach Redis or the source, are observed as they happen. Adapters of one
 * registry and prefix are the same set of metrics.
 * @throws TypeError or RangeError naming a bad option, or when the registry has another metric of such a name.
 */
export function createPrometheusDialCacheMetrics(options: PrometheusMetricsOptions): DialCacheMetricsAdapter {
  const { registry: given, prefix: before } = readOptions(options, PLACE, OPTIONS);
  const registry = withMethods<PrometheusRegistry>(given, PLACE, "registry", ["registerMetric", "getSingleMetric"]);
  const prefix = before === undefined ? "" : prefixOption(before);
  const known = sets.get(registry)?.get(prefix);
  const set = known ?? new PrometheusSet(registry, prefix);
  const foreign = set.foreignIn(registry);
  if (foreign !== undefined) return foreign;
  set.register(registry);
  if (known === undefined) sets.set(registry, (sets.get(registry) ?? new Map()).set(prefix, set));
  return set.adapter();
}

/** The metrics of one registry and prefix. */
class PrometheusSet {
  readonly #ledger = new Ledger();
  readonly #counters: Readonly<Record<CountingHook, CounterMetric>>;
  readonly #histograms: Readonly<Record<ObservingHook, HistogramMetric>>;
  readonly #gauges: Readonly<Record<GaugeName, GaugeMetric>>;
  readonly #hooks = hooksOf({
    count: (hook, labels) => this.#ledger.add(hook, labels),
    observe: (hook, labels, value) => this.#histograms[hook].observe(labels, value),
  });
  #totals: ReadonlyMap<CountingHook, Total[]> | undefined;

  constructor(registry: PrometheusRegistry, prefix: string) {
    this.#counters = each(COUNTING_HOOKS, (hook) => {
      const totals = (): readonly Total[] => this.#read().get(hook) ?? [];
      return new CounterMetric(prefix, COUNTED[hook], totals, () => addsNoLabels(registry) && !addsToNames(registry));
    });
    this.#histograms = each(OBSERVING_HOOKS, (hook) => {
      return new HistogramMetric(prefix, OBSERVED[hook], () => addsNoLabels(registry));
    });
    this.#gauges = each(GAUGE_NAMES, (gauge) => {
      return new GaugeMetric(prefix, GAUGES[gauge], () => this.#levels(gauge));
    });
    for (const metric of this.#metrics) Object.defineProperty(metric, HOOKS, { value: this.#hooks });
  }

  /**
   * The adapter of another copy of this package, whose metrics are in `registry` already.
   * @throws TypeError when they are somebody else's.
   */
  foreignIn(registry: PrometheusRegistry): DialCacheMetricsAdapter | undefined {
    for (const metric of this.#metrics) {
      const present = registry.getSingleMetric(metric.name) as { [HOOKS]?: DialCacheMetricsAdapter } | undefined;
      if (present === undefined || present === metric) continue;
      const hooks = present[HOOKS];
      if (hooks !== undefined) return { ...hooks };
      const message = `the registry already has a metric ${metric.name}; give another prefix, or a registry of its own`;
      throw invalid(TypeError, PLACE, "prefix", message);
    }
    return undefined;
  }

  /** Puts every metric into `registry` that is not there, at first or after it was cleared. */
  register(registry: PrometheusRegistry): void {
    for (const metric of this.#metrics) registry.registerMetric(metric as never);
  }

  adapter(): DialCacheMetricsAdapter {
    const hooks = this.#hooks;
    const attach = (figures: Countable, owner: object): void => this.#ledger.attach(figures, owner);
    return makeAttachable({ ...hooks }, { hooks, attach });
  }

  get #metrics(): (CounterMetric | GaugeMetric | HistogramMetric)[] {
    return [...Object.values(this.#counters), ...Object.values(this.#histograms), ...Object.values(this.#gauges)];
  }

  #levels(gauge: GaugeName): Level[] {
    const levels = new Map<string, Level>();
    this.#ledger.gauges((reading) => {
      if (reading.gauge !== gauge) return;
      const tags = tagsOf(GAUGES[gauge], reading.labels);
      levels.set(JSON.stringify(tags), { tags, value: reading.value });
    });
    return [...levels.values()];
  }

  /** A registry asks each counter in turn, at once: they all answer from one reading. */
  #read(): ReadonlyMap<CountingHook, Total[]> {
    if (this.#totals !== undefined) return this.#totals;
    const totals = new Map<CountingHook, Total[]>(COUNTING_HOOKS.map((hook) => [hook, []]));
    for (const total of this.#ledger.read()) totals.get(total.hook)?.push(total);
    this.#totals = totals;
    queueMicrotask(() => {
      this.#totals = undefined;
    });
    return totals;
  }
}

function each<Name extends string, Value>(names: readonly Name[], make: (name: Name) => Value): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, Value>;
}

/** Only a registry that is known to add none: one that keeps its default labels elsewhere may have some. */
function addsNoLabels(registry: PrometheusRegistry): boolean {
  const { _defaultLabels: labels } = registry as { _defaultLabels?: unknown };
  return typeof labels === "object" && labels !== null && Object.keys(labels).length === 0;
}

/** A registry in OpenMetrics mode ends counters' names itself. */
function addsToNames(registry: PrometheusRegistry): boolean {
  const { contentType } = registry as { contentType?: unknown };
  return typeof contentType !== "string" || contentType.startsWith("application/openmetrics-text");
}

function prefixOption(value: unknown): string {
  if (typeof value === "string" && /^([a-zA-Z_:][a-zA-Z0-9_:]*)?$/.test(value)) return value;
  throw refuse(value, PLACE, "prefix", "string", "letters, digits, _ and :, not beginning with a digit");
}
