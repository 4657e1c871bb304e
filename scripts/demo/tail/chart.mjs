/** The tail of both sides as an SVG: which part of the calls was slower than so many milliseconds, both scales logarithmic. */
import { duration } from "../table.mjs";

const WIDTH = 1_160;
const HEIGHT = 300;
const LEFT = 58;
const RIGHT = 14;
const TOP = 16;
const BOTTOM = 262;
const SHARES = [1, 0.1, 0.01, 0.001];
const TICKS_MS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000];
/** The scale goes on so much longer than the slowest call, for the figure beside its mark. */
const ROOM = 1.3;
/** Marks the place of the p99. */
const P99_SHARE = 0.01;

/** `sides` are the one without hedging and the one with it. */
export function tailChart(title, sides) {
  const sorted = sides.map(({ latencyMs }) => Float64Array.from(latencyMs).sort());
  const fastestMs = Math.max(TICKS_MS[0], Math.min(...sorted.map((latencies) => latencies[0])));
  const slowestMs = ROOM * Math.max(...sorted.map((latencies) => latencies.at(-1)));
  const x = (ms) => LEFT + logPart(ms, fastestMs, slowestMs) * (WIDTH - LEFT - RIGHT);
  const y = (share) => TOP + (1 - logPart(share, SHARES.at(-1), 1)) * (BOTTOM - TOP);
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}: part of the calls that took longer, by milliseconds">
${SHARES.map((share) => shareLine(share, y(share))).join("\n")}
${TICKS_MS.filter((ms) => ms >= fastestMs && ms <= slowestMs)
  .map((ms) => tick(ms, x(ms)))
  .join("\n")}
${sorted.map((latencies, i) => `<path class="tail ${NAMES[i]}" d="${curve(latencies, x, y)}"/>`).join("\n")}
${sides.map(({ p99Ms }, i) => p99Mark(NAMES[i], x(p99Ms), y(P99_SHARE), p99Ms)).join("\n")}
</svg>`;
}

const NAMES = ["without", "hedged"];

const px = (number) => String(Math.round(number * 10) / 10);

/** Where a value is between `from` and `to`, from 0 to 1, on a logarithmic scale. */
function logPart(value, from, to) {
  return Math.log(Math.min(Math.max(value, from), to) / from) / Math.log(to / from);
}

/** A step line from all calls to the slowest one; steps that cannot be seen apart are left out. */
function curve(sorted, x, y) {
  let d = `M${px(x(sorted[0]))} ${px(y(1))}`;
  let before = -1;
  for (let i = 0; i < sorted.length; i++) {
    const height = Math.round(y((sorted.length - i) / sorted.length));
    if (height === before && i < sorted.length - 1) continue;
    before = height;
    d += `L${px(x(sorted[i]))} ${height}`;
  }
  return `${d}V${px(y(SHARES.at(-1)))}`;
}

function shareLine(share, height) {
  const label = share === P99_SHARE ? "p99" : `${Number((share * 100).toPrecision(1))} %`;
  return `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${px(height)}" y2="${px(height)}"/>
<text class="tick" x="${LEFT - 8}" y="${px(height + 4)}" text-anchor="end">${label}</text>`;
}

function tick(ms, left) {
  return `<text class="tick" x="${px(left)}" y="${BOTTOM + 22}" text-anchor="middle">${ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`}</text>
<line class="grid" x1="${px(left)}" x2="${px(left)}" y1="${TOP}" y2="${BOTTOM}"/>`;
}

function p99Mark(name, left, height, ms) {
  return `<circle class="mark ${name}" cx="${px(left)}" cy="${px(height)}" r="4"/>
<text class="mark ${name}" x="${px(left + 8)}" y="${px(height - 7)}">${duration(ms)}</text>`;
}
