import { describe, expect, it } from "vitest";

const load = (name: string) => import(new URL(`../../scripts/demo/${name}.mjs`, import.meta.url).href);
const { callFigures, tailFailures } = await load("tail/figures");
const { originLoad } = await load("tail/origins");
const { fates } = await load("tail/fates");
const { Stories, storyOf } = await load("tail/stories");
const { eventsLine, loadTable, originsTable, readsTable, storiesTable } = await load("tail/tables");
const { tailFigures } = await load("tail/index");
const { tailNotes, tailSections, tailTiles } = await load("tail/report");
const { WAITING, HIT, LOADED, FAILED } = await load("traffic");

type Fate = { status: number; ms: number };

const record = {
  latencyMs: Float64Array.of(4, 1, 90, 2),
  outcome: Uint8Array.of(HIT, HIT, LOADED, HIT),
  firstError: undefined,
};
const side = (name: string, title: string, more = {}) => ({ name, title, ...record, ...callFigures(record), ...more });
const read = { replies: 4, late: 1, readHedge: { hits: 2, outruns: 1, sourceErrors: 0, denied: 3 } };
const reads = {
  sides: [
    side("deadline", "deadline", { ...read, sourceCalls: 10, extraCalls: 0 }),
    side("hedged", "hedged", { ...read, sourceCalls: 11, extraCalls: 1 }),
  ],
};
const names = ["first", "policies"];
const origins = {
  sides: [side("first", "first"), side("policies", "policies")],
  load: [
    { name: "slow", first: { requests: 4, failed: 1, aborted: 0 }, policies: { requests: 4, failed: 1, aborted: 2 } },
    {
      name: "healthy",
      first: { requests: 0, failed: 0, aborted: 0 },
      policies: { requests: 2, failed: 0, aborted: 0 },
    },
  ],
  events: { onHedge: 2, onFailover: 1, onRetry: 0, onWinner: 4 },
  stories: [{ course: "a", text: "a <b>", count: 3 }],
  stats: { hedges: { won: 1, lost: 1, failed: 0, denied_budget: 5 } },
};

describe("the figures of what is slow", () => {
  it("are those of all calls of a side", () => {
    expect(callFigures(record)).toEqual({ requests: 4, errors: 0, hitRatio: 0.75, p50Ms: 2, p99Ms: 90, worstMs: 90 });
  });

  it("count rejected calls and those never answered as errors", () => {
    const outcome = Uint8Array.of(FAILED, WAITING, LOADED, HIT);
    expect(callFigures({ ...record, outcome })).toMatchObject({ errors: 2, hitRatio: 0.25 });
  });

  it("are zeros of nothing", () => {
    const nothing = callFigures({ latencyMs: new Float64Array(), outcome: new Uint8Array() });
    expect(nothing).toEqual({ requests: 0, errors: 0, hitRatio: 0, p50Ms: 0, p99Ms: 0, worstMs: 0 });
  });

  it("tell the sides of an origin's log apart", () => {
    const log = [
      { side: "first", status: 200, aborted: false },
      { side: "first", status: 503, aborted: false },
      { side: "policies", status: 200, aborted: true },
      { side: "policies", status: 503, aborted: true },
      { side: "warm", status: 200, aborted: false },
    ];
    expect(originLoad(log, names)).toEqual({
      first: { requests: 2, failed: 1, aborted: 0 },
      policies: { requests: 2, failed: 0, aborted: 2 },
    });
  });
});

describe("the verdict on what is slow", () => {
  const without = { title: "deadline", requests: 10, errors: 0, p99Ms: 100 };
  const hedged = { title: "hedge", requests: 10, errors: 0, p99Ms: 85 };
  const judge = (worse: object, strict: object[] = []) =>
    tailFailures("reads", { without, hedged: { ...hedged, ...worse }, strict });

  it("finds nothing wrong with a p99 that is better by the margin", () => {
    expect(judge({}, [without, hedged])).toEqual([]);
  });

  it("wants the margin", () => {
    const line = "reads: p99 of 85.1 ms with hedge, 100 ms with deadline: at most 85.0 % of that was expected";
    expect(judge({ p99Ms: 85.1 })).toEqual([line]);
  });

  it("wants no error on the sides that must have none", () => {
    const failing = { ...hedged, errors: 2, firstError: "Error: no\n    at somewhere" };
    expect(judge({}, [without, failing])).toEqual([
      "reads: 2 of 10 callers saw an error with hedge (first: Error: no)",
    ]);
    expect(judge({ errors: 2 })).toEqual([]);
  });
});

describe("an origin's fates", () => {
  const shape = { seed: 1, slowShare: 0.06, failShare: 0.02 };
  const calls = Array.from({ length: 20_000 }, (_, call) => call);

  it("are the same for the same call, in whatever order it comes", () => {
    const fate = fates(shape);
    const [first, second] = [fate(7), fate(8)];
    expect([fates(shape)(8), fates(shape)(7)]).toEqual([second, first]);
    expect(first).not.toEqual(second);
    expect(fates({ ...shape, seed: 2 })(7)).not.toEqual(first);
  });

  it("are slow and failing as often as asked", () => {
    const all: Fate[] = calls.map(fates(shape));
    const share = (matches: (fate: Fate) => boolean) => all.filter(matches).length / all.length;
    expect(share(({ status }) => status === 503)).toBeCloseTo(0.02, 2);
    expect(share(({ ms }) => ms >= 500 && ms <= 1_200)).toBeCloseTo(0.06, 2);
    expect(share(({ status, ms }) => status === 200 && ms >= 30 && ms <= 80)).toBeCloseTo(0.92, 2);
    const failing: Fate[] = calls.map(fates({ seed: 1, slowShare: 0, failShare: 1 }));
    expect(failing.every(({ status }) => status === 503)).toBe(true);
  });
});

describe("the story of a call", () => {
  const places = ["slow", "failing", "healthy"];
  const hedge = (afterMs: number) => ["onHedge", { endpoint: 2, afterMs }];
  const won = (marginMs: number) => ["onWinner", { kind: "hedge", endpoint: 2, marginMs, losers: 1 }];

  it("tells the events in order, once without figures", () => {
    expect(storyOf([hedge(120), won(40.25)], places)).toEqual({
      course: "hedge to healthy, hedge won at healthy, a loser aborted",
      text: "hedge to healthy after 120 ms, hedge won at healthy 40.3 ms later, a loser aborted",
    });
    const rest = [
      ["onFailover", { from: 0, endpoint: 1 }],
      ["onRetry", { endpoint: 0, backoffMs: 12 }],
      ["onWinner", { kind: "retry", endpoint: 0, marginMs: 0, losers: 0 }],
    ];
    expect(storyOf(rest, places).text).toBe(
      "failover from slow to failing, retry at slow after 12.0 ms, retry won at slow",
    );
  });

  it("ends with a failure when nobody won", () => {
    expect(storyOf([hedge(1)], places).course).toBe("hedge to healthy, failed");
    expect(storyOf([], places).course).toBe("failed");
  });

  it("is counted with those that went alike, the most frequent first", () => {
    const stories = new Stories();
    for (const story of [[hedge(1), won(1)], [hedge(2)], [hedge(3), won(3)]]) stories.add(storyOf(story, places));
    expect(stories.list()).toMatchObject([
      { count: 2, text: "hedge to healthy after 1.00 ms, hedge won at healthy 1.00 ms later, a loser aborted" },
      { count: 1, course: "hedge to healthy, failed" },
    ]);
  });
});

describe("what is shown of it", () => {
  it.each([
    ["reads", readsTable(reads), 2],
    ["origins", originsTable(origins), 2],
    ["an origin's load", loadTable(origins), 2],
    ["stories", storiesTable(origins), 1],
  ])("is a table with a cell for each heading: %s", (_, { headings, rows }, count) => {
    expect(rows.length).toBe(count);
    for (const row of rows) expect(row.length).toBe(headings.length);
  });

  it("counts what hedging costs against the calls", () => {
    expect(readsTable(reads).rows[1].at(-1)).toBe("+1 (25.0 %)");
    expect(originsTable(origins).rows[1].slice(-2)).toEqual(["6", "+2 (50.0 %)"]);
    expect(loadTable(origins).rows[1]).toEqual(["healthy", "0", "2", "+2 (50.0 %)", "0", "0"]);
    expect(eventsLine(origins)).toBe(
      "onHedge 2, onFailover 1, onRetry 0, onWinner 4; of the hedges 1 won, 1 lost, 0 failed; 5 more were denied by the budget",
    );
  });

  it("is in the JSON by comparison and side", () => {
    const { reads: read, origins: origin } = tailFigures({ reads, origins });
    expect(read.hedged).toMatchObject({ errors: 0, p99Ms: 90, sourceCalls: 11, readHedge: { outruns: 1 } });
    expect(origin.policies).toMatchObject({ p99Ms: 90, origins: { slow: { requests: 4, failed: 1, aborted: 2 } } });
    expect(origin.events).toEqual(origins.events);
  });

  it("is in the page without scripts, anything to fetch, or markup of its texts", () => {
    const page = [tailTiles({ reads, origins }), tailSections({ reads, origins }), tailNotes()].join("");
    expect(page).not.toMatch(/<script|src=|href=|url\(|NaN|undefined/);
    expect(page).toContain("a &lt;b&gt;");
    expect(page.match(/<path class="tail (without|hedged)"/g)?.length).toBe(4);
    const tags = (pattern: RegExp) => page.match(pattern)?.length;
    for (const name of ["section", "svg", "table", "div", "dl", "p"]) {
      expect(tags(new RegExp(`<${name}[ >]`, "g")), name).toBe(tags(new RegExp(`</${name}>`, "g")));
    }
  });
});
