import { describe, expect, it } from "vitest";

const { optionsFrom } = await import(new URL("../../scripts/demo/arguments.mjs", import.meta.url).href);

describe("the demo's arguments", () => {
  it.each<[string[], object]>([
    [[], { json: false, variants: ["plain", "dialcache"], withTail: true }],
    [["--json"], { json: true, variants: ["plain", "dialcache"], withTail: true }],
    [["--only", "plain"], { variants: ["plain"], withTail: false }],
    [["--only", "dialcache", "--json"], { json: true, variants: ["dialcache"], withTail: false }],
    [["--only", "tail"], { variants: [], withTail: true }],
    [["--report", "/some/where.html"], { reportFile: "/some/where.html" }],
    [["-h"], { help: true }],
  ])("%j", (args, options) => {
    expect(optionsFrom(args)).toMatchObject(options);
  });

  it("writes the report into the repository unless told otherwise", () => {
    expect(optionsFrom([]).reportFile).toMatch(/[/\\]demo-report\.html$/);
  });

  it.each([
    [["--only", "other"], "no variant is called other"],
    [["--json", "--only", "plain"], "which --only plain leaves out"],
    [["--json", "--only", "tail"], "which --only tail leaves out"],
    [["--jsn"], "Unknown option '--jsn' (--help lists the options)"],
  ])("refuses %j", (args, message) => {
    expect(() => optionsFrom(args)).toThrow(message);
  });
});
