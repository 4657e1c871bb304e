import { describe, expect, it, onTestFinished } from "vitest";
import { httpSource } from "../../lib/http-source";
import { until } from "../support/real-time";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

type Trouble = "none" | "delayed" | "frozen" | "failing";

interface OriginProcess {
  readonly url: string;
  trouble(kind: Trouble): void;
  figures(): Promise<OriginFigures>;
  end(): void;
}

interface OriginFigures {
  readonly requests: number;
  readonly answered: number;
  readonly aborted: number;
  readonly open: number;
}

const { figuresOf, startOrigins } = (await import(
  new URL("../../benches/node/support/origins.mjs", import.meta.url).href
)) as {
  startOrigins(count: number): Promise<OriginProcess[]>;
  figuresOf(origins: OriginProcess[]): Promise<OriginFigures>;
};

async function threeOrigins(): Promise<OriginProcess[]> {
  const origins = await startOrigins(3);
  onTestFinished(() => {
    for (const origin of origins) origin.end();
  });
  return origins;
}

describe("Three origins over HTTP, in processes of their own, one of them in trouble", () => {
  it.each<Trouble>(["delayed", "frozen", "failing"])(
    "%s: every call is answered, every loser's connection closed, nothing left",
    async (kind) => {
      const origins = await threeOrigins();
      const users = httpSource({
        name: "users",
        endpoints: origins.map(({ url }) => url),
        path: (id: number) => `/users/${id}`,
        timeoutMs: 20_000,
        hedge: { delayMs: 60, budget: { burst: 40 } },
        failover: {},
      });
      const call = async (id: number): Promise<string> => (await users(id)).text();
      await Promise.all([1, 2, 3, 4, 5, 6].map(call));
      const [origin] = origins as [OriginProcess];
      origin.trouble(kind);
      // A message is not there yet when it is sent; a stopped process is.
      if (kind !== "frozen") await origin.figures();
      const answers = await Promise.all(Array.from({ length: 30 }, (_, id) => call(id)));
      expect(new Set(answers)).toEqual(new Set(["a user"]));
      origin.trouble("none");

      const { attempts, hedges, pending, inFlight, timers } = users.stats();
      expect({ pending, inFlight, timers }).toEqual({ pending: 0, inFlight: 0, timers: 0 });
      const cancelled = Object.values(attempts).reduce((sum, outcomes) => sum + outcomes.cancelled, 0);
      const extra = attempts.failover.ok + hedges.started;
      expect(extra).toBeGreaterThanOrEqual(10);
      expect(hedges.started).toBeLessThanOrEqual(40 + 3.6);
      if (kind === "failing") expect(attempts.primary.error).toBeGreaterThanOrEqual(10);
      else expect(cancelled).toBeGreaterThanOrEqual(10);
      let seen = await figuresOf(origins);
      await until("every loser's connection is closed, as its origin sees it", async () => {
        seen = await figuresOf(origins);
        return seen.open === 0;
      });
      const ended = (outcome: "ok" | "error"): number =>
        Object.values(attempts).reduce((sum, outcomes) => sum + outcomes[outcome], 0);
      const started = cancelled + ended("ok") + ended("error");
      // Some losers were given up before their connection stood, and some when their answer was on its way already.
      const unsent = started - seen.requests;
      const crossed = seen.answered - ended("ok") - ended("error");
      expect(seen.aborted).toBe(cancelled - unsent - crossed);
      if (kind !== "failing") expect(seen.aborted).toBeGreaterThan(0);
    },
  );
});
