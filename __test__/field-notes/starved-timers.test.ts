import { afterEach, describe, expect, it } from "vitest";
import { blockEventLoop } from "../support/real-time";
import { useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const IN_FLIGHT = 16;
const READS = 600;

describe("native client, real time", () => {
  const rig = useRig({ client: "native client", time: "real time" });
  let watching = false;
  afterEach(() => {
    watching = false;
  });

  it("replies that come faster than they are handled leave every turn of the event loop to timers and sockets", async () => {
    const world = await rig.world({ readTimeoutMs: 10_000, config: { localMaxSize: 0 } });
    const ids = Array.from({ length: IN_FLIGHT }, (_, index) => String(index));
    for (const id of ids) await world.plant("GetUser", id, id);
    let reads = 0;
    const load = world.load("GetUser", () => "source", {
      serializer: {
        dump: String,
        // Slower than the I/O thread: more replies are there at the end of each batch.
        load: (payload) => {
          blockEventLoop(1);
          reads += 1;
          return payload;
        },
      },
    });

    let before = 0;
    let mostInOneTurn = 0;
    watching = true;
    const turn = (): void => {
      mostInOneTurn = Math.max(mostInOneTurn, reads - before);
      before = reads;
      if (watching) setImmediate(turn);
    };
    setImmediate(turn);
    const lane = async (id: string): Promise<void> => {
      while (reads < READS) expect(await load(id)).toBe(id);
    };
    await Promise.all(ids.map(lane));

    expect(reads).toBeGreaterThanOrEqual(READS);
    // What was in flight at the turn's beginning, and what is asked for and answered while a batch is handled.
    expect(mostInOneTurn).toBeLessThanOrEqual(2 * IN_FLIGHT);
  });
});
