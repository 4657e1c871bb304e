// The arguments of `npm run bench`.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root, SetupError } from "../support/run.mjs";

export const USAGE = `npm run bench [-- [options] [part of a workload's name]...]

Runs everything and writes benches/RESULTS.md and its plots. With parts of names, --no-criterion or --no-tail it runs a
part, prints it and writes nothing.

  --also-node <major>   runs the workloads on this Node, too: fetched once, Linux x64 only
  --node <path>         runs the workloads on the Node at this path, too
  --no-criterion        leaves out the benchmarks of the core
  --no-tail             leaves out the simulation of hedging
  --quick               few and short rounds; nothing is written
  --out <folder>        writes the document and its plots there, of a part, too
  --json                the last line is one JSON object, and nothing else is printed
  --help                this text`;

const OPTIONS = {
  "also-node": { type: "string", multiple: true, default: [] },
  node: { type: "string", multiple: true, default: [] },
  "no-criterion": { type: "boolean", default: false },
  "no-tail": { type: "boolean", default: false },
  quick: { type: "boolean", default: false },
  out: { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
};

export function optionsFrom(args) {
  const { values, positionals } = parsed(args);
  const majors = values["also-node"];
  const bad = majors.find((major) => !/^[1-9]\d*$/.test(major));
  if (bad !== undefined) throw new SetupError(`--also-node takes a major version such as 24, not ${bad}`);
  const isPart = positionals.length > 0 || values.quick;
  const criterion = !values["no-criterion"] && !isPart;
  const tail = !values["no-tail"] && !isPart;
  return {
    filters: positionals,
    alsoMajors: majors,
    alsoPaths: values.node,
    criterion,
    tail,
    quick: values.quick,
    json: values.json,
    help: values.help,
    // What is measured in part must not replace what was measured as a whole.
    out: values.out ?? (criterion && tail ? join(root, "benches") : undefined),
  };
}

function parsed(args) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new SetupError(`${error.message.split(". ")[0]} (--help lists the options)`);
  }
}
