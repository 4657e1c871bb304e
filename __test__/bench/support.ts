/** A module of the benchmarks, which are JavaScript without types. */
export function node(name: string) {
  return import(new URL(`../../benches/node/support/${name}.mjs`, import.meta.url).href);
}

export function script(name: string) {
  return import(new URL(`../../scripts/bench/${name}.mjs`, import.meta.url).href);
}

export interface Figure {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function one(value: number): Figure {
  return { median: value, min: value, max: value };
}
