/** The timeline of one run as an SVG: every request's latency on a logarithmic scale, and below it the hit share and the open requests. */
import { binsOf } from "./bins.mjs";
import { duration, whole } from "./table.mjs";
import { FAILED, HIT, LOADED, WAITING } from "./traffic.mjs";

const WIDTH = 1_160;
const LEFT = 58;
const RIGHT = 14;
const LATENCY = { top: 34, height: 300 };
const SHARE = { top: 370, height: 54 };
const OPEN = { top: 460, height: 54 };
const HEIGHT = 546;
const FASTEST_MS = 0.15;
const DECADES_MS = [1, 10, 100, 1_000, 10_000, 100_000];

/** `slowestMs` and `mostOpen` are the common ends of the scales, so that the charts of several runs can be compared by eye. */
export function chart(run, { bounds, slowestMs, mostOpen }) {
  const x = (ms) => LEFT + (ms / run.durationMs) * (WIDTH - LEFT - RIGHT);
  const top = Math.log(slowestMs / FASTEST_MS);
  const y = (ms) => LATENCY.top + LATENCY.height * (1 - Math.log(Math.max(ms, FASTEST_MS) / FASTEST_MS) / top);
  const bins = binsOf(run);
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Latency of every request, hit share and open requests over time: ${run.title}">
${phaseBands(run.phases, x)}
${latencyAxis(slowestMs, y)}
${dots(run, LOADED, "loaded", x, y)}
${dots(run, HIT, "hit", x, y)}
${dots(run, FAILED, "failed", x, y)}
${dots(run, WAITING, "failed", x, y)}
${boundLines(run.phases, bounds, x, y)}
<path class="p99" d="${stepLine(bins, x, (bin) => y(bin.p99Ms))}"/>
${strip(SHARE, "hit share", "100 %", bins, x, (bin) => bin.hitRatio, "share")}
${strip(OPEN, "open requests", whole(mostOpen), bins, x, (bin) => bin.open / mostOpen, "open")}
${timeAxis(run.durationMs, x)}
${hoverTexts(bins, x)}
</svg>`;
}

const px = (number) => String(Math.round(number * 10) / 10);

function phaseBands(phases, x) {
  const bottom = OPEN.top + OPEN.height;
  return phases
    .map(({ name, beginMs, endMs }) => {
      const left = x(beginMs);
      const width = x(endMs) - left;
      return `<rect class="band ${name}" x="${px(left)}" y="${LATENCY.top}" width="${px(width)}" height="${bottom - LATENCY.top}"/>
<line class="edge" x1="${px(left)}" x2="${px(left)}" y1="${LATENCY.top - 16}" y2="${bottom}"/>
<text class="phase" x="${px(left + 8)}" y="${LATENCY.top - 8}">${name}</text>`;
    })
    .join("\n");
}

function latencyAxis(slowestMs, y) {
  return DECADES_MS.filter((ms) => ms <= slowestMs)
    .map((ms) => {
      const label = ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`;
      return `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${px(y(ms))}" y2="${px(y(ms))}"/>
<text class="tick" x="${LEFT - 8}" y="${px(y(ms) + 4)}" text-anchor="end">${label}</text>`;
    })
    .join("\n");
}

/** All requests of one outcome as a single path of round dots: thousands of elements would make the page slow. */
function dots(run, outcome, name, x, y) {
  let d = "";
  for (let i = 0; i < run.atMs.length; i++) {
    if (run.outcome[i] === outcome) d += `M${px(x(run.atMs[i]))} ${px(y(run.latencyMs[i]))}h0`;
  }
  return `<path class="dot ${name}" d="${d}"/>`;
}

function boundLines(phases, bounds, x, y) {
  const lines = phases.map(({ beginMs, endMs }, i) => {
    const height = px(y(bounds[i].boundMs));
    return `<line class="bound" x1="${px(x(beginMs))}" x2="${px(x(endMs))}" y1="${height}" y2="${height}"/>`;
  });
  const label = `<text class="bound-label" x="${WIDTH - RIGHT - 6}" y="${px(y(bounds.at(-1).boundMs) - 6)}" text-anchor="end">bound ${duration(bounds.at(-1).boundMs)}</text>`;
  return [...lines, label].join("\n");
}

function stepLine(bins, x, height) {
  return bins
    .map((bin, i) => `${i === 0 ? "M" : "L"}${px(x(bin.fromMs))} ${px(height(bin))}H${px(x(bin.toMs))}`)
    .join("");
}

function strip({ top, height }, title, most, bins, x, part, name) {
  const bottom = top + height;
  const line = stepLine(bins, x, (bin) => bottom - height * Math.min(1, part(bin)));
  return `<text class="strip" x="${LEFT + 8}" y="${top - 6}">${title}</text>
<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${top}" y2="${top}"/>
<text class="tick" x="${LEFT - 8}" y="${top + 4}" text-anchor="end">${most}</text>
<path class="area ${name}" d="${line}V${bottom}H${LEFT}Z"/>
<line class="axis" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${bottom}" y2="${bottom}"/>
<text class="tick" x="${LEFT - 8}" y="${bottom + 4}" text-anchor="end">0</text>`;
}

function timeAxis(durationMs, x) {
  const base = OPEN.top + OPEN.height + 20;
  const ticks = [];
  for (let ms = 0; ms <= durationMs; ms += 4_000) {
    ticks.push(`<text class="tick" x="${px(x(ms))}" y="${base}" text-anchor="middle">${ms / 1_000} s</text>`);
  }
  return ticks.join("\n");
}

function hoverTexts(bins, x) {
  return bins
    .map((bin) => {
      const text = `${(bin.fromMs / 1_000).toFixed(1)} to ${(bin.toMs / 1_000).toFixed(1)} s: ${bin.requests} requests, hit share ${Math.round(bin.hitRatio * 100)} %
p50 ${duration(bin.p50Ms)}, p99 ${duration(bin.p99Ms)}, worst ${duration(bin.worstMs)}; ${whole(bin.open)} open at the end`;
      return `<rect class="hover" x="${px(x(bin.fromMs))}" y="${LATENCY.top}" width="${px(x(bin.toMs) - x(bin.fromMs))}" height="${OPEN.top + OPEN.height - LATENCY.top}"><title>${text}</title></rect>`;
    })
    .join("\n");
}
