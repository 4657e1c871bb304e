import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Figure, node, one } from "./support";

const { BUDGETS, FLOORS, judge, overBudget, verdictOf } = await node("budgets");
const { decoded, encoded, Report, renderBudgets, measuredText, limitText } = await node("report");

interface Row {
  readonly id?: string;
  readonly what: string;
  readonly verdict: string;
  readonly over?: number;
  readonly instead?: { readonly what: string; readonly figure: Figure };
}

/** A pattern that matches a text and no other. */
const literally = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

function workloadFiles(): string[] {
  const folder = fileURLToPath(new URL("../../benches/node/", import.meta.url));
  return readdirSync(folder)
    .filter((name) => name.endsWith(".mjs"))
    .map((name) => join(folder, name));
}

const most = (limit: number) => ({ limit, atLeast: false });
const least = (limit: number) => ({ limit, atLeast: true });
const row = (rows: Row[], what: string) => rows.find((one) => one.what === what);

describe("a budget", () => {
  it.each([
    ["half of what it may be", most(10), 5, 0.5, "met"],
    ["exactly what it may be", most(10), 10, 1, "met"],
    ["more than it may be", most(10), 11, 1.1, "missed"],
    ["twice what it must be", least(2), 4, 0.5, "met"],
    ["less than it must be", least(2), 1, 2, "missed"],
    ["nothing, where nothing may be", most(0), 0, 0, "met"],
    ["something, where nothing may be", most(0), 1, Number.POSITIVE_INFINITY, "missed"],
    ["less than nothing", most(1), -3, 0, "met"],
    ["no number", most(10), Number.NaN, Number.NaN, "missed"],
  ])("measured as %s", (_, budget, measured, over, verdict) => {
    expect(overBudget(budget, measured)).toBe(over);
    expect(verdictOf(budget, one(measured))).toBe(verdict);
  });

  it("has one id, a limit and a subject", () => {
    const ids = BUDGETS.map(({ id }: Row) => id).filter((id: string | undefined) => id !== undefined);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(BUDGETS.map(({ what }: Row) => what)).size).toBe(BUDGETS.length);
    for (const { limit, what } of BUDGETS) expect([typeof limit, what.length > 0]).toEqual(["number", true]);
  });

  it("is measured by a workload, by criterion or by the simulation, as is each ratio that stands in for one", () => {
    const texts = [...workloadFiles(), fileURLToPath(new URL("../../scripts/bench/core.mjs", import.meta.url))].map(
      (file) => readFileSync(file, "utf8"),
    );
    const named = texts.flatMap((text) => [...text.matchAll(/["`]([^"`\n]+)["`]|^ +(\w+):/gm)]);
    const patterns = named.map(([, quoted, key]) => {
      const literal = (quoted ?? key ?? "").split(/\$\{[^}]*\}/).map((part) => literally(part));
      return new RegExp(`^${literal.join("\\d+")}$`);
    });
    const wanted = [...BUDGETS.map(({ id }: Row) => id), ...Object.keys(FLOORS)].filter((id) => id !== undefined);
    expect(wanted.filter((id) => !patterns.some((pattern) => pattern.test(id)))).toEqual([]);
  });

  it("that cannot be measured here names a ratio that can", () => {
    const named = BUDGETS.filter(({ needs }: { needs?: string }) => needs !== undefined);
    expect(named.length).toBeGreaterThan(0);
    for (const { instead } of named) expect(Object.keys(FLOORS)).toContain(instead);
  });
});

describe("budgets that are judged", () => {
  const measures = { "local-hot": one(125), "redis-hit-128/node-redis-5": one(1.2) };
  const all: Row[] = judge(measures);

  it("are all there, those without a figure as not measured", () => {
    expect(all.map(({ what }) => what)).toEqual(BUDGETS.map(({ what }: Row) => what));
    expect(row(all, "local hit, hot key")).toMatchObject({ verdict: "met", over: 0.5 });
    expect(row(all, "garbage per local hit")).toMatchObject({ verdict: "not measured" });
  });

  it("show the floor's ratio where the package to compare with is missing", () => {
    const needed = row(all, "Redis hit, main-thread CPU to DialCache");
    expect(needed).toMatchObject({ verdict: "not measurable here", instead: { figure: one(1.2) } });
    expect(measuredText(needed)).toBe("1.20 (1.20-1.20) x to node-redis 5 GET + JSON.parse");
    expect(measuredText(row(all, "local hit, Zipf, to DialCache"))).toBe("-");
  });

  it("are only those measured when a part was run", () => {
    expect(judge(measures, { all: false }).map(({ id }: Row) => id)).toEqual([
      "local-hot",
      "redis-hit-128/node-redis-5",
    ]);
  });

  it("are rendered with their spread, their limit and how far off they are", () => {
    const text = renderBudgets(judge({ garbage: { median: 600, min: 500, max: 700 } }, { all: false }));
    expect(text).toMatch(/garbage per local hit +600 \(500-700\) B +<= 400 B +1\.50 +missed/);
    expect(limitText({ limit: 2, unit: "x", atLeast: true })).toBe(">= 2 x");
  });
});

describe("a report", () => {
  it("knows the budgets it is given figures for", () => {
    const report = new Report();
    report.measure("zstd-on-loop", 0);
    expect(report.measures).toEqual({ "zstd-on-loop": one(0) });
    expect(() => report.measure("zstd-on-lop", 0)).toThrow("there is no budget zstd-on-lop");
  });

  it("renders tables, notes and what became of its budgets", () => {
    const report = new Report();
    report.table("a title", ["", "ns"], [["ours", { median: 1.234, min: 1, max: 12_345 }]]);
    report.note("a note");
    report.measure("local-hot", 500);
    expect(report.render()).toMatch(/a title\n {2} +ns\n {2}ours {2}1\.23 \(1-12,345\)\n\na note\n\nbudget .*missed$/s);
  });

  it("keeps figures that JSON has no text for: what never came is not what took no time", () => {
    const report = new Report();
    report.measure("frozen-late", { median: Number.POSITIVE_INFINITY, min: 1, max: Number.NaN });
    const { measures } = decoded(encoded(report));
    expect(measures).toEqual(report.measures);
    expect(row(judge(measures), "Redis frozen: the source starts late by, p99")).toMatchObject({ verdict: "missed" });
  });
});
