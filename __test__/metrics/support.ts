import type { DialCache } from "dialcache-native";

/** One line of a Prometheus scrape. */
export interface ScrapedSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The lines of one name, in their order. */
export function samples(text: string, name: string): ScrapedSample[] {
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.map((line) => {
    const labels = [...line.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text]);
    return { labels: Object.fromEntries(labels), value: Number(line.slice(line.lastIndexOf(" "))) };
  });
}

/** The number of the only line of that name with these labels. */
export function value(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const found = samples(text, name).filter((sample) =>
    Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
  );
  if (found.length > 1) throw new Error(`${found.length} lines of ${name}`);
  return found[0]?.value;
}

/** `cached` with the tests' usual options, to be called in a scope of the test's. */
export function loadOf(
  cache: DialCache,
  useCase: string,
  source: (id: string) => Promise<unknown>,
  options: Partial<Parameters<DialCache["cached"]>[1]>,
): (id: string) => Promise<unknown> {
  return cache.cached(source as (id: string) => Promise<string>, {
    keyType: "user_id",
    useCase,
    cacheKey: (id) => id,
    ...(options as object),
  });
}
