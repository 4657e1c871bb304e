import { describe, expect, it } from "vitest";
import { node } from "./support";

const { bounds, contendersOption, linesOption, plotFiles, WIDTH } = await node("plot-options");

const point = (name: string, median: number) => ({ name, median, min: median / 2, max: median * 2 });
const contenders = {
  name: "local-hot",
  kind: "contenders",
  title: "local hit",
  x: { title: "ns an operation" },
  points: [point("ours", 200), point("theirs", 900)],
};
const lines = {
  name: "value-size",
  kind: "lines",
  title: "by size",
  x: { title: "bytes" },
  y: { title: "µs" },
  series: [{ name: "ours", points: [100, 1_000].map((x) => ({ x, median: x / 10, min: x / 20, max: x / 5 })) }],
};
const run = (version: string, plots: object[]) => ({ node: { version }, plots });
const titled = (name: string) => ({ file: name });

describe("plots", () => {
  it.each([
    [[57, 6_000], 10, 10_000],
    [[100, 1_000], 100, 1_000],
    [[5, 5], 1, 10],
    [[0, 0.02, 3], 0.01, 10],
  ])("have powers of ten around %j", (values, min, max) => {
    const found = bounds(values);
    expect(found.min).toBeCloseTo(min, 10);
    expect(found.max).toBeCloseTo(max, 10);
  });

  it("of contenders have a row each and a colour for each Node", () => {
    const option = contendersOption(contenders, [
      { name: "Node 20.19.0", points: contenders.points },
      { name: "Node 24.1.0", points: contenders.points },
    ]);
    expect(option.yAxis.data).toEqual(["ours", "theirs"]);
    expect(option.xAxis).toMatchObject({ type: "log", min: 100, max: 10_000, name: "ns an operation" });
    expect(option.series.map(({ data }: { data: number[][] }) => data[1])).toEqual([
      [1, 900, 450, 1_800],
      [1, 900, 450, 1_800],
    ]);
    const colors = option.series.map((one: { itemStyle: { color: string } }) => one.itemStyle.color);
    expect(new Set(colors).size).toBe(2);
    expect(option.legend.map(({ data }: { data: string[] }) => data)).toEqual([["Node 20.19.0", "Node 24.1.0"]]);
    expect(option.backgroundColor).toBe("#ffffff");
  });

  it("leave out the legend of one series", () => {
    const runs = [{ name: "Node 20.19.0", points: contenders.points }];
    expect(contendersOption(contenders, runs).legend).toEqual([]);
  });

  it("of lines have logarithmic axes, unless told otherwise", () => {
    expect(linesOption(lines)).toMatchObject({
      xAxis: { type: "log", name: "bytes", min: 100, max: 1_000 },
      yAxis: { type: "log", name: "µs", min: 1, max: 1_000 },
    });
    const straight = linesOption({ ...lines, x: { title: "n", linear: true }, y: { title: "MB", linear: true } });
    expect(straight).toMatchObject({ xAxis: { type: "value" }, yAxis: { type: "value", min: 0 } });
  });

  it("give a long legend more lines, and grow by them", () => {
    const series = Array.from({ length: 8 }, (_, at) => ({ ...lines.series[0], name: `a contender's name ${at}` }));
    const [short, long] = [linesOption(lines), linesOption({ ...lines, series })];
    expect(long.legend.flatMap(({ data }: { data: string[] }) => data)).toEqual(series.map(({ name }) => name));
    expect(long.legend.length).toBeGreaterThan(1);
    for (const { top } of long.legend) expect(top + 14).toBeLessThan(long.grid.top);
    expect(long.height - long.grid.top).toBe(short.height - short.grid.top);
    expect(WIDTH).toBeGreaterThan(long.grid.left + long.grid.right);
  });

  it("of two Nodes are one file of contenders, and one each of lines", () => {
    const both = plotFiles([run("20.19.0", [contenders, lines]), run("24.1.0", [contenders, lines])]);
    expect(both).toMatchObject(["local-hot.svg", "value-size.node20.svg", "value-size.node24.svg"].map(titled));
    expect(both[0].option.series).toHaveLength(2);
    expect(both[2].title).toBe("by size (Node 24.1.0)");
    const alone = plotFiles([run("20.19.0", [contenders, lines])]);
    expect(alone).toMatchObject(["local-hot.svg", "value-size.svg"].map(titled));
  });

  it("are drawn although the workload failed on one of the Nodes", () => {
    expect(plotFiles([run("20.19.0", []), run("24.1.0", [contenders])])).toMatchObject([titled("local-hot.svg")]);
    expect(plotFiles([run("20.19.0", [])])).toEqual([]);
  });
});
