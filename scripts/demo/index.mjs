/** `npm run demo`: Redis is frozen, killed and restarted under load, once below a plain cache-aside and once below this package. */
import { writeFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { endAll } from "./children.mjs";
import { READ_TIMEOUT_MS, TRAFFIC, timetable } from "./phases.mjs";
import { progressOn } from "./progress.mjs";
import { report } from "./report.mjs";
import { runVariant, startSource } from "./run.mjs";
import { CannotRun } from "./servers.mjs";
import { failures, summarise } from "./stats.mjs";
import { table } from "./table.mjs";

const HELP = `Usage: npm run demo -- [--json] [--report <file>]

  --json            make the last line of output one JSON object with this package's figures
  --report <file>   where to write the report (default: demo-report.html)
  --only <variant>  run only "plain" or "dialcache"
`;
const TITLES = { plain: "node-redis cache-aside, as services write it today", dialcache: "dialcache-native" };
const LAUNCHER_CHECK_MS = 500;

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
for (const [signal, code] of Object.entries(SIGNALS)) process.once(signal, () => quit(code));
process.on("exit", endAll);
// Output into a pipe whose reader has gone: nobody watches any more.
process.stdout.on("error", () => quit(141));
// A launcher that dies without passing the signal on (a shell between npm and this process) leaves us to another parent.
const launcher = process.ppid;
setInterval(() => process.ppid === launcher || quit(129), LAUNCHER_CHECK_MS).unref();

try {
  const options = readOptions();
  process.exitCode = await demo(options);
  process.exit();
} catch (error) {
  console.error(error instanceof CannotRun ? `demo: ${error.message}` : error);
  quit(2);
}

async function demo({ json, reportFile, variants }) {
  const progress = progressOn(process.stdout);
  const seconds = timetable().at(-1).endMs / 1_000;
  progress.say(`${TRAFFIC.ratePerSec} requests/s over ${TRAFFIC.users} users (Zipf), source 30-80 ms, read deadline ${READ_TIMEOUT_MS} ms; about ${Math.round((seconds + 5) * variants.length)} s in all`);

  const source = await startSource();
  const runs = [];
  for (const variant of variants) {
    progress.say(`\n${TITLES[variant]}`);
    const run = await runVariant(variant, source, progress);
    const summary = summarise(run);
    runs.push({ ...run, title: TITLES[variant], summary });
  }
  endAll();

  for (const { title, summary, warnings } of runs) {
    progress.say(`\n${title}\n${table(summary).join("\n")}`);
    if (warnings.count > 0) progress.say(`${warnings.count} warnings were logged, the first: ${warnings.first}`);
  }

  const ours = runs.find(({ variant }) => variant === "dialcache");
  const failed = ours ? failures(ours.summary, ours.firstError) : [];
  writeFileSync(reportFile, report(runs, failed));
  progress.say(`\nReport: ${relative(process.cwd(), reportFile) || reportFile}`);
  if (ours) progress.say(verdict(failed));
  if (json && ours) progress.say(JSON.stringify(figures(ours.summary)));
  return failed.length > 0 ? 1 : 0;
}

function verdict(failed) {
  if (failed.length > 0) return failed.map((line) => `FAILED ${line}`).join("\n");
  return "OK: no caller of dialcache-native saw an error, every phase's p99 kept its bound, and the hit share came back by itself";
}

function figures(summary) {
  const round = (number, digits) => Number(number.toFixed(digits));
  return {
    errors: summary.reduce((total, { errors }) => total + errors, 0),
    phases: summary.map(({ name, requests, errors, hitRatio, p50Ms, p99Ms, boundMs }) => ({
      name,
      requests,
      errors,
      hitRatio: round(hitRatio, 4),
      p50Ms: round(p50Ms, 2),
      p99Ms: round(p99Ms, 2),
      boundMs: round(boundMs, 2),
    })),
  };
}

function readOptions() {
  let values;
  try {
    ({ values } = parseArgs({
      options: { json: { type: "boolean" }, report: { type: "string" }, only: { type: "string" }, help: { type: "boolean", short: "h" } },
    }));
  } catch (error) {
    throw new CannotRun(`${error.message}\n${HELP}`);
  }
  if (values.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  if (values.only !== undefined && !Object.hasOwn(TITLES, values.only)) throw new CannotRun(`no variant is called ${values.only}`);
  const root = fileURLToPath(new URL("../..", import.meta.url));
  return {
    json: values.json === true,
    reportFile: values.report ? resolve(values.report) : resolve(root, "demo-report.html"),
    variants: values.only ? [values.only] : Object.keys(TITLES),
  };
}

function quit(code) {
  endAll();
  process.exit(code);
}
