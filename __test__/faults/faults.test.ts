import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { realDelay } from "../support/real-time";
import { failOnUnhandled } from "../support/unhandled";
import { Leftovers } from "./leftovers";
import { Load } from "./load";
import { LoopWatch } from "./loop-watch";
import { CLIENT_NAMES, planRound } from "./plan";
import { type Item, Origin, padOf, type Service, type UseCase } from "./service";
import type { Topology } from "./topology";

failOnUnhandled();

describe("A round's plan", () => {
  it("is the same for the same seed and number, and another for others", () => {
    const plans = Array.from({ length: 50 }, (_, round) => JSON.stringify(planRound(7, round)));
    expect(Array.from({ length: 50 }, (_, round) => JSON.stringify(planRound(7, round)))).toEqual(plans);
    expect(new Set(plans).size).toBe(50);
    expect(JSON.stringify(planRound(8, 0))).not.toBe(plans[0]);
  });

  it("has in a thousand rounds every client, topology and fault many times", () => {
    const counts = new Map<string, number>();
    for (let round = 0; round < 1_000; round += 1) {
      const { topology, clients, faults } = planRound(1, round);
      const kinds = faults.map(({ action }) => action.kind);
      for (const name of new Set([topology, ...clients, ...clients.map((name) => `${topology} ${name}`), ...kinds])) {
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
    for (const name of CLIENT_NAMES) {
      for (const topology of ["standalone", "cluster"]) expect(counts.get(`${topology} ${name}`)).toBeGreaterThan(40);
    }
    const kinds = [...counts].filter(
      ([name]) => !/standalone|cluster/.test(name) && !CLIENT_NAMES.includes(name as never),
    );
    expect(kinds).toHaveLength(13);
    for (const [name, count] of kinds) expect(count, name).toBeGreaterThan(20);
  });
});

describe("A round complains", () => {
  const plan = { ...planRound(1, 0), callsPerSecond: 2_000, ids: 5, invalidations: true, local: false, clients: [] };

  /** What it says about a service that answers so. */
  async function complaintsAbout(answer: (useCase: UseCase, id: string, origin: Origin) => Promise<Item>) {
    const origin = new Origin(plan);
    const service = {
      client: { name: "native" },
      cache: { invalidateRemote: async () => {} },
      load: (useCase: UseCase, id: string) => answer(useCase, id, origin),
    } as unknown as Service;
    const watch = new LoopWatch();
    const stop = new Load(plan, [service], origin, watch).start();
    await realDelay(400);
    return (await stop()).complaints.join("\n");
  }

  const item = (useCase: UseCase, id: string, version: number): Item => ({
    useCase,
    id,
    version,
    pad: padOf(useCase, id, version, plan.valueBytes),
  });

  it("about nothing when each call gets its own value, as new as can be", async () => {
    expect(await complaintsAbout(async (useCase, id, origin) => item(useCase, id, origin.version(id)))).toBe("");
  });

  it("about another id's value, another use case's, and one that was changed on its way", async () => {
    const other = await complaintsAbout(async (useCase, _id, origin) => item(useCase, "3", origin.version("3")));
    expect(other).toMatch(/Untracked 2 got Untracked 3/);
    const swapped = await complaintsAbout(async (_, id, origin) => item("Tracked", id, origin.version(id)));
    expect(swapped).toMatch(/Untracked (\d) got Tracked \1/);
    const cut = await complaintsAbout(async (useCase, id, origin) => {
      const whole = item(useCase, id, origin.version(id));
      return { ...whole, pad: whole.pad.slice(1) };
    });
    expect(cut).toMatch(/changed value/);
  });

  it("about a tracked value that is older than a completed invalidation, and not about an untracked one", async () => {
    const old = await complaintsAbout(async (useCase, id) => item(useCase, id, 1));
    expect(old).toMatch(/Tracked \d got version 1 after \d+ was invalidated/);
    expect(old).not.toMatch(/Untracked/);
  });

  it("about connections, handles and listeners that are left, and not about those that were there before", async () => {
    const proxies = [{ open: 0 }] as unknown as Topology["proxies"];
    expect(await new Leftovers(50).complaints({ proxies })).toEqual([]);
    const leftovers = new Leftovers(50);
    const server = createServer();
    server.listen(0, "127.0.0.1");
    const listener = () => {};
    process.on("SIGUSR2", listener);
    onTestFinished(() => {
      process.off("SIGUSR2", listener);
      server.close();
    });
    await once(server, "listening");
    const open = [{ open: 2 }] as unknown as Topology["proxies"];
    expect((await leftovers.complaints({ proxies: open })).join("\n")).toMatch(
      /connections left: 2\n.*TCPServerWrap.*\nlisteners left: 1 SIGUSR2/,
    );
    expect(await new Leftovers(50).complaints({ proxies })).toEqual([]);
  });

  it("about an error", async () => {
    expect(await complaintsAbout(() => Promise.reject(new Error("Redis is down")))).toMatch(/got an error: .*is down/);
  });
});
