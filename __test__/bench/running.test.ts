import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { one, script } from "./support";

const { optionsFrom } = await script("arguments");
const { runWorkload, workloads } = await script("workloads");
const { collapsed, smoke, SMOKE, unmeasured } = await script("smoke");
const { nodes } = await script("nodes");

const benches = fileURLToPath(new URL("../../benches", import.meta.url));
const here = { path: process.execPath, version: process.versions.node };

async function written(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dialcache-workload-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "workload.mjs");
  writeFileSync(file, text);
  return file;
}

describe("the benchmarks' arguments", () => {
  it.each<[string[], object]>([
    [[], { filters: [], criterion: true, tail: true, out: benches, json: false, quick: false }],
    [["--json", "--also-node", "24"], { alsoMajors: ["24"], json: true, out: benches }],
    [["--node", "/some/node"], { alsoPaths: ["/some/node"], out: benches }],
    [["local", "miss"], { filters: ["local", "miss"], criterion: false, tail: false, out: undefined }],
    [["--quick"], { criterion: false, tail: false, out: undefined }],
    [["--no-criterion"], { criterion: false, tail: true, out: undefined }],
    [["--no-tail"], { criterion: true, tail: false, out: undefined }],
    [["local", "--out", "/some/where"], { criterion: false, out: "/some/where" }],
    [["-h"], { help: true }],
  ])("%j", (args, options) => {
    expect(optionsFrom(args)).toMatchObject(options);
  });

  it.each([
    [["--jsn"], "Unknown option '--jsn' (--help lists the options)"],
    [["--also-node", "v24"], "--also-node takes a major version such as 24, not v24"],
  ])("refuses %j", (args, message) => {
    expect(() => optionsFrom(args)).toThrow(message);
  });
});

describe("a workload", () => {
  it("is chosen by a part of its name", () => {
    expect(workloads(["local-h"])).toEqual(["local-hot"]);
    expect(workloads(["no such"])).toEqual([]);
    expect(workloads([])).toEqual(expect.arrayContaining(SMOKE));
  });

  it("tells what it found on its last line", async () => {
    const file = await written(
      `console.log("progress");\nconsole.log(JSON.stringify({ args: process.argv.slice(2) }));`,
    );
    const outcome = await runWorkload("one", here, { script: file, quick: true });
    expect(outcome).toEqual({ name: "one", result: { args: ["--json", "--quick"] } });
  });

  it.each([
    ["exits with a code", "process.exit(3);", "exit code 3"],
    ["tells nothing", "", "no result on its last line"],
    ["tells something else", 'console.log("{");', "no result on its last line"],
    ["hangs", "setInterval(() => {}, 1_000);", "ended after 0.5 s"],
  ])("is reported, and stops nothing, when it %s", async (_, text, failure) => {
    const limitMs = failure.startsWith("ended") ? 500 : 25_000;
    const outcome = await runWorkload("one", here, { script: await written(text), limitMs });
    expect(outcome).toEqual({ name: "one", failure });
  });

  it("is reported when its Node does not start", async () => {
    const outcome = await runWorkload("one", { path: "/no/such/node", version: "0" }, { script: await written("") });
    expect(outcome).toEqual({ name: "one", failure: "exit code ENOENT" });
  });
});

describe("the Nodes", () => {
  it("are this one and those named", async () => {
    expect(await nodes({ alsoMajors: [], alsoPaths: [process.execPath] })).toEqual([here, here]);
  });

  it("are refused when they are not pinned, or do not run", async () => {
    await expect(nodes({ alsoMajors: ["7"], alsoPaths: [] })).rejects.toThrow("no Node 7 is among");
    await expect(nodes({ alsoMajors: [], alsoPaths: ["/no/such/node"] })).rejects.toThrow("is not a Node that runs");
  });
});

describe("the smoke run", () => {
  const met = { result: { measures: { "local-hot": one(200) } } };
  const poor = { result: { measures: { "local-hot": one(700) } } };
  const collapse = { result: { measures: { "local-hot": one(751) } } };
  const failure = { failure: "exit code 1" };

  it("takes for a collapse what is more than three times off its budget, and what is no number", () => {
    const found = (ns: number) => collapsed({ "local-hot": one(ns) }).length;
    expect([200, 300, 750, 751, Number.NaN].map(found)).toEqual([0, 0, 0, 1, 1]);
    expect(collapsed({ "deadlines-armed": one(1) })).toHaveLength(1);
    // By the wall clock, which other processes lengthen.
    expect(collapsed({ "false-timeouts": one(499), "frozen-late": one(1_000) })).toEqual([]);
    expect(collapsed({ "false-timeouts": one(500) })).toHaveLength(1);
    // One that is not checked here.
    expect(collapsed({ scrape: one(1_000) })).toEqual([]);
  });

  it.each([
    ["once when all is met", [met], 1, []],
    ["once when a budget is missed", [poor], 1, []],
    ["again after a collapse", [collapse, met], 2, []],
    ["again after a failure", [failure, met], 2, []],
    ["no third time", [collapse, collapse, met], 2, ["local hit, hot key is 3.0 times off its budget"]],
    ["no third time", [collapse, failure, met], 2, ["one failed: exit code 1"]],
  ])("runs a workload %s", async (_, outcomes, times, failures) => {
    const run = vi.fn();
    for (const outcome of outcomes) run.mockResolvedValueOnce(outcome);
    expect(await smoke(["one"], run)).toMatchObject({ failures });
    expect(run).toHaveBeenCalledTimes(times);
  });

  it("goes on after a workload that failed", async () => {
    const outcomes = new Map<string, object>([
      ["one", failure],
      ["two", met],
    ]);
    const { measures, failures } = await smoke(["one", "two"], async (name: string) => outcomes.get(name));
    expect([measures, failures]).toEqual([{ "local-hot": one(200) }, ["one failed: exit code 1"]]);
  });

  it("knows which of its budgets were not measured", () => {
    const all = unmeasured({});
    expect(unmeasured({ "local-hot": one(200) })).toHaveLength(all.length - 1);
  });
});
