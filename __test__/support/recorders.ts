import type { DialCacheMetricsAdapter } from "dialcache-native";

/** One call of a metrics adapter. */
export interface MetricEvent {
  readonly method: string;
  readonly labels: Readonly<Record<string, unknown>>;
  readonly value: number | undefined;
}

export interface MetricsRecorder {
  readonly adapter: DialCacheMetricsAdapter;
  readonly events: MetricEvent[];
  /** The events of one method whose labels contain `labels`. */
  of(method: string, labels?: Record<string, unknown>): MetricEvent[];
  count(method: string, labels?: Record<string, unknown>): number;
}

const METHODS = [
  "request",
  "miss",
  "disabled",
  "error",
  "invalidation",
  "coalesced",
  "readHedge",
  "shadowValidation",
  "observeShadowValueAge",
  "compression",
  "observeGet",
  "observeFallback",
  "observeSerialization",
  "observeSize",
  "observeCompression",
  "observeStoredSize",
  "observeCompressionRatio",
] as const;

/** A metrics adapter that keeps every event. */
export function recordMetrics(): MetricsRecorder {
  const events: MetricEvent[] = [];
  const adapter: Record<string, (labels: Record<string, unknown>, value?: number) => void> = {};
  for (const method of METHODS) {
    adapter[method] = (labels, value) => {
      events.push({ method, labels: { ...labels }, value });
    };
  }
  const of = (method: string, labels: Record<string, unknown> = {}) =>
    events.filter(
      (event) =>
        event.method === method && Object.entries(labels).every(([name, value]) => event.labels[name] === value),
    );
  return {
    adapter: adapter as unknown as DialCacheMetricsAdapter,
    events,
    of,
    count: (method, labels) => of(method, labels).length,
  };
}

/** A metrics adapter all of whose methods do `act`: throw, reject, never settle. */
export function hostileMetrics(act: () => unknown): DialCacheMetricsAdapter {
  return Object.fromEntries(METHODS.map((method) => [method, act])) as unknown as DialCacheMetricsAdapter;
}

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly args: readonly unknown[];
}

export interface LoggerRecorder {
  readonly logger: Record<LogLine["level"], (...args: unknown[]) => void>;
  readonly lines: LogLine[];
  /** Lines of level `warn` and `error`: what an operator would see. */
  readonly warnings: readonly LogLine[];
  /** Everything logged, as one text, errors with their causes and stacks: to look for what must not stand there. */
  text(): string;
}

/** A logger that keeps every line. */
export function recordLogger(): LoggerRecorder {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine["level"]) =>
    (...args: unknown[]) => {
      lines.push({ level, args });
    };
  return {
    logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
    lines,
    get warnings() {
      return lines.filter(({ level }) => level === "warn" || level === "error");
    },
    text: () => lines.map(({ level, args }) => `${level} ${args.map(describe).join(" ")}`).join("\n"),
  };
}

/** The error among a log line's arguments. */
export function errorOf(line: LogLine | undefined): Error | undefined {
  return line?.args.find((arg): arg is Error => arg instanceof Error);
}

function describe(value: unknown): string {
  if (value instanceof Error) {
    const fields = JSON.stringify({ ...value });
    return `${value.stack ?? value.message} ${fields} ${value.cause === undefined ? "" : describe(value.cause)}`;
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
