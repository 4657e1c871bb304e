import { describe, expect, it } from "vitest";
import { one, script } from "./support";

const { markdownTable, measuresOf, renderResults, tally } = await script("results");
const { tailMeasures } = await script("core");

const result = (median: number) => ({
  workload: "local hit, one hot key",
  tables: [
    { title: "one call", columns: ["", "ns"], rows: [["ours | theirs", { median, min: median - 1, max: median + 1 }]] },
  ],
  measures: { "local-hot": one(median) },
  notes: ["Said once."],
  plots: [],
});
const run = (version: string, median: number, more: object[] = []) => ({
  node: { version, path: "/usr/bin/node" },
  load: [0.1, 1.5],
  outcomes: [{ name: "local-hot", result: result(median) }, ...more],
});
const all = {
  date: "2026-01-31",
  machine: { processor: "A Processor", cores: 2, memoryGiB: 8 },
  versions: { "lru-cache": "11.5.3" },
  runs: [
    run("20.19.0", 200, [{ name: "miss", failure: "exit code 1" }]),
    run("24.1.0", 300, [{ name: "miss", failure: "ended after 300 s" }]),
  ],
  core: { figures: { "counter/add": { median: 2, min: 1, max: 3 } }, measures: { counter: one(2) } },
  tail: { text: "W1 auto", measures: { "hedge-step": one(12) } },
};
const plots = { "local-hot": [{ file: "plots/local-hot.svg", title: "local hit" }] };
const text: string = renderResults(all, plots);
const line = (start: string) => text.split("\n").find((one) => one.startsWith(`| ${start}`));

describe("benches/RESULTS.md", () => {
  it("tells the machine, the date, the versions and the load", () => {
    expect(line("processor")).toBe("| processor | A Processor |");
    expect(line("date")).toBe("| date | 2026-01-31 |");
    expect(line("load")).toBe("| load | Node 20.19.0: 0.10 before, 1.50 after; Node 24.1.0: 0.10 before, 1.50 after |");
    expect(line("lru-cache |")).toBe("| lru-cache | 11.5.3 |");
    expect(text).not.toContain("/usr/bin");
  });

  it("has a column of each Node in the table of budgets, and marks each met or missed", () => {
    expect(line("budget")).toBe(
      "| budget | wanted | Node 20.19.0 | budget used | verdict | Node 24.1.0 | budget used | verdict |",
    );
    expect(line("local hit, hot key, where")).toMatch(
      /\| <= 250 ns \| 200 ns \| 80\.0 % \| met \| 300 ns \| 120 % \| \*\*missed\*\* \|$/,
    );
    expect(text).toMatch(/Node 20\.19\.0: 2 met, 1 missed, \d+ not measured, \d+ not measurable here\./);
  });

  it("has the same figures of the core in every column", () => {
    expect(line("counters: one event")).toBe(
      "| counters: one event | <= 15 ns | 2 ns | 13.3 % | met | 2 ns | 13.3 % | met |",
    );
    expect(line("counter/add")).toBe("| counter/add | 2 (1-3) |");
  });

  it("has what was measured elsewhere, and says what is missing for it", () => {
    expect(line("local hit, hot key, to DialCache")).toContain(
      "| not measurable here: needs DialCache for TypeScript |",
    );
  });

  it("shows each workload's tables, plots and notes", () => {
    expect(text).toContain("## local hit, one hot key\n\n[local-hot.mjs](node/local-hot.mjs)");
    expect(text).toContain("![local hit](plots/local-hot.svg)");
    expect(text).toContain("### Node 24.1.0: local-hot\n\none call\n\n|  | ns |\n|---|---:|\n");
    expect(text).toContain("| ours \\| theirs | 300 (299-301) |");
    expect(text.match(/Said once\./g)).toHaveLength(1);
    expect(text).toContain("```text\nW1 auto\n```");
  });

  it("reports what failed, and keeps the rest", () => {
    expect(text).toContain("## miss\n\n[miss.mjs](node/miss.mjs)");
    expect(text).toContain("**Failed: exit code 1.**");
    expect(text).toContain("**Failed: ended after 300 s.**");
    const failure = { failure: "no compiler", measures: {} };
    expect(renderResults({ ...all, core: failure, tail: failure })).toMatch(
      /## The core alone\n\n\*\*Failed: no compiler\.\*\*/,
    );
  });

  it("has one level of headings for one Node", () => {
    expect(renderResults({ ...all, runs: all.runs.slice(0, 1) })).not.toMatch(/^###/m);
  });
});

describe("what results are made of", () => {
  it("keeps tables whole", () => {
    expect(markdownTable(["", "a"], [["b\nc", "d|e"]])).toBe("|  | a |\n|---|---:|\n| b c | d\\|e |");
  });

  it("a run's measures are those of all its workloads, and the shared ones", () => {
    expect(measuresOf(all.runs[0], { counter: one(2) })).toEqual({ counter: one(2), "local-hot": one(200) });
  });

  it("counts verdicts, those missed also when there are none", () => {
    const verdicts = ["met", "met", "not measured"].map((verdict) => ({ verdict }));
    expect(tally(verdicts)).toBe("2 met, 0 missed, 1 not measured");
  });

  it("takes the worst of the simulation's rows that are judged", () => {
    const row = (workload: string, policy: string, ratio: number) => ({ workload, policy, ratio });
    const line = {
      rows: [
        row("W1", "auto", 1.01),
        row("W3 leaf", "auto", 1.03),
        row("W1", "no hedge", 4),
        row("half slow", "auto", 2),
      ],
      hedgeShare: { max: 0.09, budget: 0.1 },
      step: { maxHedgeShare: 0.105 },
    };
    const measures = tailMeasures(line);
    expect(measures["hedge-optimum"]).toEqual(one(1.03));
    expect(measures["hedge-budget"].median).toBeCloseTo(0.9);
    expect(measures["hedge-step"].median).toBeCloseTo(10.5);
    expect(() => tailMeasures({ ...line, rows: [] })).toThrow("no row that a budget is about");
  });
});
