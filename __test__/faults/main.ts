import { parseArgs } from "node:util";
import { planRound, type RoundPlan, type TopologyName } from "./plan";
import { type RoundReport, runRound } from "./round";
import { Summary } from "./summary";
import { startProxiedCluster, startStandalone, type Topology } from "./topology";

const USAGE = `npm run test:faults -- [--rounds N] [--seed S] [--from K] [--round K] [--strict] [--json]

  --rounds N   how many rounds (default 40)
  --seed S     which plans (default 1)
  --from K     the number of the first round (default 0): a long run can be done in pieces
  --round K    this round alone
  --strict     call times count as well: for a machine with nothing else to do
  --json       a JSON object for each round, and one for the summary`;

interface Options {
  readonly rounds: number;
  readonly seed: number;
  readonly from: number;
  readonly strict: boolean;
  readonly json: boolean;
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: "string", default: "40" },
      seed: { type: "string", default: "1" },
      from: { type: "string", default: "0" },
      round: { type: "string" },
      strict: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  const whole = (name: string, text: string): number => {
    if (!/^\d{1,9}$/.test(text)) throw new TypeError(`--${name} wants a whole number, not ${text}`);
    return Number(text);
  };
  const { round, strict, json } = values;
  const seed = whole("seed", values.seed);
  if (round !== undefined) return { rounds: 1, from: whole("round", round), seed, strict, json };
  return { rounds: whole("rounds", values.rounds), from: whole("from", values.from), seed, strict, json };
}

/** Servers are started once, when the first round wants them. */
class Topologies {
  readonly #started = new Map<TopologyName, Promise<Topology>>();

  get(name: TopologyName): Promise<Topology> {
    const start = { standalone: startStandalone, cluster: startProxiedCluster }[name];
    const topology = this.#started.get(name) ?? start();
    this.#started.set(name, topology);
    return topology;
  }

  async stop(): Promise<void> {
    for (const topology of this.#started.values()) await (await topology).stop();
  }
}

/** Rejections and exceptions that nobody handled, and Node's warnings. */
function watchProcess(): string[] {
  const seen: string[] = [];
  process.on("unhandledRejection", (reason) => seen.push(`unhandled rejection: ${String(reason)}`));
  process.on("uncaughtException", (error) => seen.push(`uncaught exception: ${error.stack}`));
  process.on("warning", ({ name, message }) => {
    if (name === "MaxListenersExceededWarning") seen.push(`${name}: ${message}`);
  });
  return seen;
}

/** Runs the rounds; resolves with the exit code. */
export async function main(args: string[]): Promise<number> {
  let options: Options;
  try {
    options = readOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
    return 2;
  }
  const { rounds, seed, from, strict, json } = options;
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const unhandled = watchProcess();
  const summary = new Summary();
  const topologies = new Topologies();
  const run = `faults ${process.pid}`;
  try {
    for (let round = from; round < from + rounds; round += 1) {
      const plan = planRound(seed, round);
      const report = await attempt(plan, topologies, run);
      const complaints = [...report.complaints, ...unhandled.splice(0)];
      summary.add(plan, { ...report, complaints });
      print(json ? JSON.stringify(Summary.figures(plan, { ...report, complaints })) : line(report, complaints));
    }
  } finally {
    await topologies.stop();
  }
  const lateness = strict ? summary.lateness() : [];
  print(json ? JSON.stringify(summary) : summary.text());
  for (const complaint of lateness) print(complaint);
  return summary.failed === 0 && lateness.length === 0 ? 0 : 1;
}

async function attempt(plan: RoundPlan, topologies: Topologies, run: string): Promise<RoundReport> {
  return runRound(plan, await topologies.get(plan.topology), run);
}

function line(report: RoundReport, complaints: readonly string[]): string {
  const { round, what, calls, hits, failedReads, sourceRuns, recoveryMs, loopWorstMs } = report;
  const figures = `${calls} calls, ${hits} hits, ${failedReads} failed reads, ${sourceRuns} source runs`;
  const times = `hits back after ${recoveryMs.toFixed(0)} ms, loop late ${loopWorstMs.toFixed(0)} ms`;
  const verdict = complaints.length === 0 ? "ok" : `FAILED\n    ${complaints.join("\n    ")}`;
  return `round ${round} | ${what} | ${figures}, ${times} | ${verdict}`;
}
