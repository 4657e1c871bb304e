import { describe, expect, it } from "vitest";

const load = (name: string) => import(new URL(`../../scripts/demo/${name}.mjs`, import.meta.url).href);
const { summarise, failures, quantile, wantedHitRatio } = await load("stats");
const { recoveries } = await load("bins");
const { WAITING, HIT, LOADED, FAILED } = await load("traffic");

type Request = [atMs: number, latencyMs: number, outcome: number];

const phases = [
  { name: "healthy", beginMs: 0, endMs: 1_000 },
  { name: "frozen", beginMs: 1_000, endMs: 2_000 },
  { name: "thawed", beginMs: 2_000, endMs: 3_000, recovers: true },
];
const good: Request[] = [
  [100, 60, LOADED],
  [600, 1, HIT],
  [1_100, 110, LOADED],
  [1_900, 130, LOADED],
  [2_100, 50, LOADED],
  [2_600, 1, HIT],
];
const source = [
  { atMs: 100, ms: 60 },
  { atMs: 1_150, ms: 60 },
  { atMs: 1_950, ms: 80 },
  { atMs: 2_000, ms: 50 },
];

function run(requests: Request[]) {
  return {
    phases,
    durationMs: 3_000,
    atMs: Float64Array.from(requests, ([at]) => at),
    latencyMs: Float64Array.from(requests, ([, latency]) => latency),
    outcome: Uint8Array.from(requests, ([, , outcome]) => outcome),
    source,
  };
}

describe("the demo's figures", () => {
  it("takes nearest-rank quantiles", () => {
    const hundred = Float64Array.from({ length: 100 }, (_, i) => i + 1);
    expect([quantile(hundred, 0.5), quantile(hundred, 0.99), quantile([3], 0.99), quantile([], 0.5)]).toEqual([
      50, 99, 3, 0,
    ]);
  });

  it("counts a request in the phase it arrived in, and as waiting when the phase ended first", () => {
    const [healthy, frozen, thawed] = summarise(run(good));
    expect(healthy).toMatchObject({ requests: 2, errors: 0, hitRatio: 0.5, p50Ms: 1, worstMs: 60, waiting: 0 });
    expect(frozen).toMatchObject({ requests: 2, hitRatio: 0, p99Ms: 130, waiting: 1, sourceCalls: 2, sourcePeak: 1 });
    expect(thawed).toMatchObject({ requests: 2, hitRatio: 0.5, lateHitRatio: 1, sourcePeak: 2 });
  });

  it("adds the phase's own source p99 to the bound, the healthy one's when the source was not reached", () => {
    const bounds = summarise(run(good)).map((phase: { boundMs: number }) => phase.boundMs);
    expect(bounds).toEqual([130, 150, 120]);
    const unreached = { ...run(good), source: source.slice(0, 1) };
    expect(summarise(unreached)[1].boundMs).toBe(130);
  });

  it("finds nothing wrong with a run that kept everything", () => {
    const summary = summarise(run(good));
    expect(failures(summary)).toEqual([]);
    expect(recoveries(run(good), wantedHitRatio(summary))).toEqual([{ name: "thawed", afterMs: 1_000 }]);
  });

  it.each<[string, Request, RegExp]>([
    ["a rejected call", [1_500, 5, FAILED], /^frozen: 1 of 3 callers saw an error \(first: Error: no\)$/],
    ["a call never answered", [2_200, 100, WAITING], /^thawed: 1 of 3 callers saw an error/],
    ["a p99 over the bound", [1_500, 151, LOADED], /^frozen: p99 of 151\.0 ms is over the bound of 150\.0 ms$/],
  ])("reports %s", (_, request, line) => {
    const requests = [...good, request].sort((a, b) => a[0] - b[0]);
    expect(failures(summarise(run(requests)), "Error: no\n    at somewhere")).toEqual([expect.stringMatching(line)]);
  });

  it("reports a hit share that stays away, and a cache that never worked", () => {
    const away = good.map(([at, ms, outcome]): Request => [at, ms, at > 2_000 ? LOADED : outcome]);
    expect(failures(summarise(run(away)))).toEqual([expect.stringMatching(/^thawed: the hit share did not come back/)]);
    expect(recoveries(run(away), 0.8)).toEqual([{ name: "thawed", afterMs: undefined }]);
    const never = good.map(([at, ms]): Request => [at, ms, LOADED]);
    expect(failures(summarise(run(never)))).toEqual([expect.stringMatching(/^healthy: nothing was ever answered/)]);
  });
});
