import { type HookLabels, type Metric, type ObservedMetric, type Tags, tagNames, tagsKey, tagsOf } from "./catalogue";
import type { Total } from "./ledger";

/** One line of a scrape, as prom-client's registries take it. */
interface Sample {
  value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
  /** Labels that many samples have in common: a registry renders the same object once. */
  readonly sharedLabels?: Tags;
}

/** What a registry asks a metric for. */
interface Scrape {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "histogram";
  readonly aggregator: "sum";
  readonly values: Sample[];
}

const NO_LABELS = {};

/** A metric of ours in a prom-client registry: made without prom-client, so that its version is the caller's business. */
abstract class RegistryMetric {
  /** Writable: a registry in OpenMetrics mode standardises it. */
  name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly aggregator = "sum";
  abstract readonly type: "counter" | "histogram";

  constructor(prefix: string, metric: Metric) {
    this.name = prefix + metric.prometheus;
    this.help = metric.help;
    this.labelNames = tagNames(metric);
  }

  protected scrape(values: Sample[]): Scrape {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values };
  }
}

/** A counter whose numbers stand elsewhere. */
export class CounterMetric extends RegistryMetric {
  readonly type = "counter";
  readonly #totals: () => readonly Total[];
  readonly #resets = new Map<Total, number>();

  /** @param totals - This counter's totals, as of now. */
  constructor(prefix: string, metric: Metric, totals: () => readonly Total[]) {
    super(prefix, metric);
    this.#totals = totals;
  }

  /** The numbers as JSON. */
  get(): Scrape {
    return this.scrape(this.#samples((tags, value) => ({ value, labels: tags })));
  }

  /** The numbers as a registry renders them fastest. */
  getForPromString(): Scrape {
    return this.scrape(this.#samples((tags, value) => ({ value, labels: NO_LABELS, sharedLabels: tags })));
  }

  /** Counts from zero again. */
  reset(): void {
    for (const total of this.#totals()) this.#resets.set(total, total.total);
  }

  #samples(sample: (tags: Tags, value: number) => Sample): Sample[] {
    const samples: Sample[] = [];
    for (const total of this.#totals()) {
      const value = total.total - (this.#resets.get(total) ?? 0);
      if (value > 0) samples.push(sample(total.tags, value));
    }
    return samples;
  }
}

interface Series {
  readonly tags: Tags;
  /** Observations up to each bound and above the one before; the last is for those above all. */
  readonly counts: number[];
  sum: number;
  /** What a scrape is rendered from, made once. */
  readonly lines: Sample[];
}

/** A histogram. */
export class HistogramMetric extends RegistryMetric {
  readonly type = "histogram";
  readonly buckets: readonly number[];
  readonly #metric: ObservedMetric;
  readonly #series = new Map<string, Series>();
  readonly #bounds: readonly Readonly<{ le: number | string }>[];

  constructor(prefix: string, metric: ObservedMetric) {
    super(prefix, metric);
    this.#metric = metric;
    this.buckets = metric.buckets;
    this.#bounds = [...metric.buckets, "+Inf"].map((le) => ({ le }));
  }

  observe(labels: HookLabels, value: number): void {
    if (!Number.isFinite(value)) return;
    const key = tagsKey(this.#metric, labels);
    const series = this.#series.get(key) ?? this.#add(key, labels);
    const bound = this.buckets.findIndex((most) => value <= most);
    const at = bound < 0 ? this.buckets.length : bound;
    series.counts[at] = (series.counts[at] as number) + 1;
    series.sum += value;
  }

  /** The numbers as JSON. */
  get(): Scrape {
    const whole = ({ value, labels, metricName, sharedLabels }: Sample): Sample => ({
      value,
      labels: { ...labels, ...sharedLabels },
      ...(metricName === undefined ? {} : { metricName }),
    });
    return this.scrape(this.#lines().map(whole));
  }

  /** The numbers as a registry renders them fastest. */
  getForPromString(): Scrape {
    return this.scrape(this.#lines());
  }

  /** Forgets what was observed. */
  reset(): void {
    this.#series.clear();
  }

  #add(key: string, labels: HookLabels): Series {
    const tags = tagsOf(this.#metric, labels);
    const line = (suffix: string, bound: Sample["labels"]): Sample => ({
      metricName: this.name + suffix,
      labels: bound,
      sharedLabels: tags,
      value: 0,
    });
    const lines = [
      ...this.#bounds.map((bound) => line("_bucket", bound)),
      line("_sum", NO_LABELS),
      line("_count", NO_LABELS),
    ];
    const series = { tags, counts: this.#bounds.map(() => 0), sum: 0, lines };
    this.#series.set(key, series);
    return series;
  }

  #lines(): Sample[] {
    const lines: Sample[] = [];
    for (const series of this.#series.values()) {
      let below = 0;
      for (const [at, count] of series.counts.entries()) {
        below += count;
        (series.lines[at] as Sample).value = below;
      }
      (series.lines.at(-2) as Sample).value = series.sum;
      (series.lines.at(-1) as Sample).value = below;
      lines.push(...series.lines);
    }
    return lines;
  }
}
