import { type HookLabels, type Metric, type ObservedMetric, type Tags, tagNames, tagsKey, tagsOf } from "./catalogue";
import type { Total } from "./ledger";

/** One line of a scrape, as prom-client's registries take it. */
interface Sample {
  value: number;
  readonly labels: Labels;
  readonly metricName?: string;
  /** More labels, rendered once: a registry looks the text up by this object. */
  readonly sharedLabels?: Labels;
}

type Labels = Readonly<Record<string, string | number>>;

/** What a registry asks a metric for. */
interface Scrape {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
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
  abstract readonly type: "counter" | "gauge" | "histogram";

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
  readonly #asGiven: () => boolean;
  readonly #resets = new Map<Total, number>();

  /**
   * @param totals - This counter's totals, as of now.
   * @param asGiven - Whether the registry writes names and labels of each line as they are given.
   */
  constructor(prefix: string, metric: Metric, totals: () => readonly Total[], asGiven: () => boolean) {
    super(prefix, metric);
    this.#totals = totals;
    this.#asGiven = asGiven;
  }

  /** The numbers as JSON. */
  get(): Scrape {
    return this.scrape(this.#samples(({ tags }, value) => ({ value, labels: tags })));
  }

  /** The numbers as a registry renders them fastest: one sample, with all lines but the last in its name. */
  getForPromString(): Scrape {
    if (!this.#asGiven()) {
      return this.scrape(this.#samples(({ tags }, value) => ({ value, labels: NO_LABELS, sharedLabels: tags })));
    }
    let text = "";
    const samples = this.#samples((total, value) => {
      const metricName = text + this.name;
      total.head ??= [this.name, "{", labelsText(total.tags), "} "].join("");
      text += `${total.head}${value}\n`;
      return { metricName, value, labels: NO_LABELS, sharedLabels: total.tags };
    });
    return this.scrape(samples.slice(-1));
  }

  /** Counts from zero again. */
  reset(): void {
    for (const total of this.#totals()) this.#resets.set(total, total.total);
  }

  #samples(sample: (total: Total, value: number) => Sample): Sample[] {
    const samples: Sample[] = [];
    for (const total of this.#totals()) {
      const value = total.total - (this.#resets.get(total) ?? 0);
      if (value > 0) samples.push(sample(total, value));
    }
    return samples;
  }
}

/** A number that goes up and down. */
export interface Level {
  readonly tags: Tags;
  readonly value: number;
}

/** A gauge whose numbers stand elsewhere. */
export class GaugeMetric extends RegistryMetric {
  readonly type = "gauge";
  readonly #levels: () => readonly Level[];

  /** @param levels - This gauge's numbers, as of now. */
  constructor(prefix: string, metric: Metric, levels: () => readonly Level[]) {
    super(prefix, metric);
    this.#levels = levels;
  }

  /** The numbers as JSON. */
  get(): Scrape {
    return this.scrape(this.#levels().map(({ tags, value }) => ({ value, labels: tags })));
  }

  /** The numbers as a registry renders them fastest. */
  getForPromString(): Scrape {
    return this.scrape(this.#levels().map(({ tags, value }) => ({ value, labels: NO_LABELS, sharedLabels: tags })));
  }

  /** They are what they are. */
  reset(): void {}
}

interface Series {
  readonly tags: Tags;
  /** Observations up to each bound and above the one before; the last is for those above all. */
  readonly counts: number[];
  sum: number;
  /** What stands between the numbers of each bucket, of the sum and of the count, in a text scrape. */
  readonly between: readonly string[];
  /** All observations. */
  count: number;
  /** Its labels in a text scrape. */
  readonly labels: string;
  /** All its lines in a text scrape but the labels and number of the last; undefined once more was observed. */
  text: string | undefined;
}

/** A histogram. */
export class HistogramMetric extends RegistryMetric {
  readonly type = "histogram";
  readonly buckets: readonly number[];
  readonly #metric: ObservedMetric;
  readonly #unlabelled: () => boolean;
  readonly #series = new Map<string, Series>();
  readonly #bounds: readonly (number | string)[];

  /** @param unlabelled - Whether the registry adds no labels of its own to each line. */
  constructor(prefix: string, metric: ObservedMetric, unlabelled: () => boolean) {
    super(prefix, metric);
    this.#metric = metric;
    this.#unlabelled = unlabelled;
    this.buckets = metric.buckets;
    this.#bounds = [...metric.buckets, "+Inf"];
  }

  observe(labels: HookLabels, value: number): void {
    if (!Number.isFinite(value)) return;
    const key = tagsKey(this.#metric, labels);
    const series = this.#series.get(key) ?? this.#add(key, labels);
    const bound = this.buckets.findIndex((most) => value <= most);
    const at = bound < 0 ? this.buckets.length : bound;
    series.counts[at] = (series.counts[at] as number) + 1;
    series.sum += value;
    series.count += 1;
    series.text = undefined;
  }

  /** The numbers as JSON. */
  get(): Scrape {
    const samples: Sample[] = [];
    for (const { tags, counts, sum } of this.#series.values()) {
      let below = 0;
      for (const [at, count] of counts.entries()) {
        below += count;
        const le = this.#bounds[at] as number | string;
        samples.push({ metricName: `${this.name}_bucket`, labels: { le, ...tags }, value: below });
      }
      samples.push({ metricName: `${this.name}_sum`, labels: tags, value: sum });
      samples.push({ metricName: `${this.name}_count`, labels: tags, value: below });
    }
    return this.scrape(samples);
  }

  /**
   * The numbers as a registry renders them fastest: one sample, with all lines but the last in its name. A registry takes
   * longer to put a line together than a scrape of hundreds of use cases may have for it.
   */
  getForPromString(): Scrape {
    if (!this.#unlabelled()) return this.get();
    let text = "";
    let last: Series | undefined;
    for (const series of this.#series.values()) {
      if (last !== undefined) text += `${lines(last)}${last.labels}${last.count}\n`;
      last = series;
    }
    if (last === undefined) return this.scrape([]);
    const metricName = text + lines(last);
    return this.scrape([{ metricName, labels: NO_LABELS, sharedLabels: last.tags, value: last.count }]);
  }

  /** Forgets what was observed. */
  reset(): void {
    this.#series.clear();
  }

  #add(key: string, labels: HookLabels): Series {
    const tags = tagsOf(this.#metric, labels);
    const labelled = labelsText(tags);
    // Joined, not concatenated: V8 would put a concatenation together again in every scrape.
    const between = this.#bounds.map((le, at) => {
      return [at === 0 ? "" : "\n", this.name, '_bucket{le="', le, '",', labelled, "} "].join("");
    });
    between.push(["\n", this.name, "_sum{", labelled, "} "].join(""), ["\n", this.name, "_count"].join(""));
    const series = {
      tags,
      counts: this.#bounds.map(() => 0),
      sum: 0,
      count: 0,
      between,
      labels: `{${labelled}} `,
      text: undefined,
    };
    this.#series.set(key, series);
    return series;
  }
}

function lines(series: Series): string {
  series.text ??= textOf(series);
  return series.text;
}

function textOf({ counts, sum, between }: Series): string {
  let below = 0;
  let text = "";
  for (let at = 0; at < counts.length; at += 1) {
    below += counts[at] as number;
    text += between[at];
    text += below;
  }
  return `${text}${between[counts.length]}${sum}${between[counts.length + 1]}`;
}

function labelsText(tags: Tags): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(",");
}

/** A label's value as the text format wants it. */
function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
