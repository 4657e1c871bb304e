/** `npm run demo`: Redis is frozen, killed and restarted under load, once below a plain cache-aside and once below this package. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { endAll } from "./children.mjs";
import { demo, TITLES } from "./demo.mjs";
import { CannotRun } from "./servers.mjs";

const HELP = `Usage: npm run demo -- [--json] [--report <file>] [--only <variant>]

  --json             the last line of output is one JSON object with this package's figures
  --report <file>    where to write the report (default: demo-report.html)
  --only <variant>   run only "plain" or "dialcache"

Exit code: 0 when this package kept its bounds, 1 when it did not, 2 when the demo could not be run.
`;
const LAUNCHER_CHECK_MS = 500;

process.on("exit", endAll);
for (const [signal, code] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 })) {
  process.once(signal, () => process.exit(code));
}
// A reader that has left, as `head` does, has seen what it wanted.
process.stdout.on("error", () => process.exit(141));
// A shell between npm and this process dies of a signal without passing it on; its end is ours too.
const launcher = process.ppid;
setInterval(() => process.ppid === launcher || process.exit(129), LAUNCHER_CHECK_MS).unref();

try {
  process.exit(await demo(readOptions(process.argv.slice(2))));
} catch (error) {
  console.error(error instanceof CannotRun ? `demo: ${error.message}` : error);
  process.exit(2);
}

function readOptions(args) {
  const values = parse(args);
  if (values.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  const { only, json = false, report } = values;
  if (only !== undefined && !Object.hasOwn(TITLES, only)) throw new CannotRun(`no variant is called ${only}`);
  if (json && only === "plain")
    throw new CannotRun("--json prints this package's figures, which --only plain leaves out");
  const root = fileURLToPath(new URL("../..", import.meta.url));
  return {
    json,
    reportFile: report ? resolve(report) : resolve(root, "demo-report.html"),
    variants: only ? [only] : Object.keys(TITLES),
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
