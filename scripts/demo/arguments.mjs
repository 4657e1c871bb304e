/** What the command line says. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CannotRun } from "./servers.mjs";

export const HELP = `Usage: npm run demo -- [--json] [--report <file>] [--only <part>]

  --json            the last line of output is one JSON object with this package's figures
  --report <file>   where to write the report (default: demo-report.html)
  --only <part>     run only "plain" or "dialcache", which are the outage through node-redis or through this package,
                    or "tail", which is what is slow but not dead

Exit code: 0 when this package kept its bounds, 1 when it did not, 2 when the demo could not be run.
`;

const VARIANTS = ["plain", "dialcache"];
const TAIL = "tail";

/** The options of `demo()`, or `{ help: true }`; throws CannotRun for what cannot be asked for. */
export function optionsFrom(args) {
  const { help, only, json = false, report } = parse(args);
  if (help) return { help };
  if (only !== undefined && ![...VARIANTS, TAIL].includes(only)) throw new CannotRun(`no variant is called ${only}`);
  if (json && (only === "plain" || only === TAIL))
    throw new CannotRun(`--json prints this package's figures of the outage, which --only ${only} leaves out`);
  return {
    json,
    reportFile: report ? resolve(report) : fileURLToPath(new URL("../../demo-report.html", import.meta.url)),
    variants: VARIANTS.filter((variant) => only === undefined || only === variant),
    withTail: only === undefined || only === TAIL,
  };
}

function parse(args) {
  const text = { type: "string" };
  const flag = { type: "boolean" };
  try {
    return parseArgs({ args, options: { json: flag, report: text, only: text, help: { ...flag, short: "h" } } }).values;
  } catch (error) {
    throw new CannotRun(`${error.message.split(". ")[0]} (--help lists the options)`);
  }
}
