/**
 * Plots as options for ECharts. Two kinds, both with whiskers from the least to the most of the rounds:
 *
 * - `contenders`: `points` of `{ name, median, min, max }`, one below the other on a logarithmic axis;
 * - `lines`: `series` of `{ name, points: [{ x, median, min, max }] }` over a logarithmic axis.
 *
 * Both have `name`, `title`, `x: { title }` and lines also `y: { title }`.
 */
import { number } from "./report.mjs";

/** Told apart with any kind of colour vision (Okabe and Ito). */
export const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333"];
const TEXT = "#24292f";
const QUIET = "#57606a";
const GRID = "#d0d7de";
export const WIDTH = 860;
const LINES_HEIGHT = 420;
const LEGEND_TOP = 36;
const LEGEND_ROW = 22;
/** What a line of the legend holds beside each name. */
const LEGEND_ITEM = 68;
const LETTER = 7.2;
const font = { fontFamily: "sans-serif", color: TEXT };

/** The power of ten at or below a number. */
const below = (value) => 10 ** Math.floor(Math.log10(value));

/** Bounds of a logarithmic axis around everything that is drawn. */
export function bounds(values) {
  const positive = values.filter((value) => value > 0 && Number.isFinite(value));
  const least = Math.min(...positive);
  const most = Math.max(...positive);
  const min = below(least);
  const max = 10 * below(most * 0.999);
  return { min, max: max > min ? max : 10 * min };
}

function frame(title, height) {
  return {
    animation: false,
    // Readable on a dark page, too.
    backgroundColor: "#ffffff",
    textStyle: font,
    title: { text: title, left: 16, top: 10, textStyle: { ...font, fontSize: 15, fontWeight: "bold" } },
    color: COLORS,
    height,
  };
}

/** Names in the lines they fit into: without a browser texts turn out wider than ECharts takes them to be. */
export function legendRows(names) {
  const rows = [];
  let left = 0;
  for (const name of names.length < 2 ? [] : names) {
    const width = name.length * LETTER + LEGEND_ITEM;
    if (width > left) {
      rows.push([]);
      left = WIDTH - 24;
    }
    rows.at(-1).push(name);
    left -= width;
  }
  return rows;
}

/** A legend for each line. */
function legends(rows) {
  return rows.map((data, row) => ({
    data,
    top: LEGEND_TOP + row * LEGEND_ROW,
    left: 12,
    itemGap: 34,
    textStyle: { ...font, fontSize: 12 },
  }));
}

function logAxis(title, { min, max }, more) {
  return {
    type: "log",
    min,
    max,
    name: title,
    nameLocation: "middle",
    nameTextStyle: { ...font, fontSize: 12 },
    axisLine: { show: true, lineStyle: { color: QUIET } },
    axisLabel: { ...font, fontSize: 11, formatter: (value) => value.toLocaleString("en-US") },
    splitLine: { lineStyle: { color: GRID } },
    minorTick: { show: true, splitNumber: 9 },
    ...more,
  };
}

/**
 * One or several runs of the same contenders.
 * @param runs - `{ name, points }` each: the name says what run it was.
 */
export function contendersOption({ title, x }, runs) {
  const names = runs[0].points.map(({ name }) => name);
  const rows = legendRows(runs.map(({ name }) => name));
  const top = 52 + rows.length * LEGEND_ROW;
  const lane = runs.length * 14 + (runs.length > 1 ? 18 : 12);
  const height = top + names.length * lane + 66;
  const values = runs.flatMap(({ points }) => points.flatMap(({ median, min, max }) => [median, min, max]));
  return {
    ...frame(title, height),
    legend: legends(rows),
    grid: { left: Math.max(...names.map((name) => name.length)) * LETTER + 24, right: 150, top, bottom: 56 },
    yAxis: {
      type: "category",
      data: names,
      inverse: true,
      axisTick: { show: false },
      axisLine: { lineStyle: { color: QUIET } },
      axisLabel: { ...font, fontSize: 12, interval: 0 },
    },
    xAxis: logAxis(x.title, bounds(values), { nameGap: 30 }),
    series: runs.map(({ name, points }, run) => ({
      name,
      type: "custom",
      itemStyle: { color: COLORS[run] },
      encode: { x: [1, 2, 3], y: 0 },
      data: points.map((point) => [names.indexOf(point.name), point.median, point.min, point.max]),
      renderItem: (_, api) => whisker(api, { color: COLORS[run], shift: (run - (runs.length - 1) / 2) * 14 }),
    })),
  };
}

/** A dot with its whisker, and its figure behind them. */
function whisker(api, { color, shift }) {
  const row = api.value(0);
  const [median, min, max] = [1, 2, 3].map((column) => api.coord([api.value(column), row]));
  const y = median[1] + shift;
  const line = (x1, y1, x2, y2) => ({
    type: "line",
    shape: { x1, y1, x2, y2 },
    style: { stroke: color, lineWidth: 1.5 },
  });
  return {
    type: "group",
    children: [
      line(min[0], y, max[0], y),
      line(min[0], y - 4, min[0], y + 4),
      line(max[0], y - 4, max[0], y + 4),
      { type: "circle", shape: { cx: median[0], cy: y, r: 4.5 }, style: { fill: color } },
      {
        type: "text",
        style: {
          text: number(api.value(1)),
          x: Math.max(max[0], median[0] + 5) + 7,
          y,
          fill: TEXT,
          fontSize: 11,
          fontFamily: "sans-serif",
          textVerticalAlign: "middle",
        },
      },
    ],
  };
}

export function linesOption({ title, x, y, series }) {
  const names = series.map(({ name }) => name);
  const rows = legendRows(names);
  const top = 52 + rows.length * LEGEND_ROW;
  const xs = series.flatMap(({ points }) => points.map((point) => point.x));
  const ys = series.flatMap(({ points }) => points.flatMap(({ median, min, max }) => [median, min, max]));
  const yBounds = y.linear ? { min: 0, max: undefined } : bounds(ys);
  const xBounds = { min: x.linear ? 0 : Math.min(...xs), max: Math.max(...xs) };
  return {
    ...frame(title, LINES_HEIGHT + rows.length * LEGEND_ROW),
    legend: legends(rows),
    grid: { left: 86, right: 36, top, bottom: 56 },
    xAxis: axis(x, xBounds, { nameGap: 30 }),
    yAxis: axis(y, yBounds, { nameGap: 60 }),
    series: series.flatMap(({ name, points }, at) => [
      {
        name,
        type: "line",
        symbol: "circle",
        symbolSize: 7,
        lineStyle: { width: 2 },
        itemStyle: { color: COLORS[at] },
        data: points.map((point) => [point.x, point.median]),
      },
      {
        name,
        type: "custom",
        itemStyle: { color: COLORS[at] },
        data: points.map((point) => [point.x, point.min, point.max]),
        encode: { x: 0, y: [1, 2] },
        renderItem: (_, api) => spread(api, COLORS[at]),
      },
    ]),
  };
}

function axis({ title, linear = false, base = 10 }, limits, more) {
  const made = logAxis(title, limits, more);
  return linear
    ? { ...made, type: "value", minorTick: { show: false } }
    : { ...made, logBase: base, minorTick: { show: base === 10, splitNumber: 9 } };
}

function spread(api, color) {
  const [low, high] = [1, 2].map((column) => api.coord([api.value(0), api.value(column)]));
  return {
    type: "line",
    shape: { x1: low[0], y1: low[1], x2: high[0], y2: high[1] },
    style: { stroke: color, lineWidth: 1.5 },
  };
}

/**
 * The files that the plots of a workload become.
 * @param runs - `{ node, plots }` each.
 * @returns `{ file, title, option }` each: contenders of all runs in one file, lines in one for each run.
 */
export function plotFiles(runs) {
  const files = [];
  const first = runs.find(({ plots }) => plots.length > 0);
  for (const plot of first?.plots ?? []) {
    const all = runs.flatMap(({ node, plots }) => {
      const same = plots.find(({ name }) => name === plot.name);
      return same === undefined ? [] : [{ ...same, run: `Node ${node.version}` }];
    });
    if (plot.kind === "contenders") {
      const series = all.map(({ run, points }) => ({ name: run, points }));
      files.push({ file: `${plot.name}.svg`, title: plot.title, option: contendersOption(plot, series) });
      continue;
    }
    for (const one of all) {
      const title = runs.length > 1 ? `${one.title} (${one.run})` : one.title;
      const suffix = all.length > 1 ? `.${one.run.split(".")[0].replace(" ", "").toLowerCase()}` : "";
      files.push({ file: `${one.name}${suffix}.svg`, title, option: linesOption({ ...one, title }) });
    }
  }
  return files;
}
