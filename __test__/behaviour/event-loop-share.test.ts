import { describe, expect, it } from "vitest";
import { REMOTE_ONLY, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

/** Most events the native side hands over at once. */
const BATCH_EVENTS = 512;

describe("native client, real time: in a flood of replies", () => {
  const rig = useRig({ client: "native client", time: "real time" });

  // Node calls a threadsafe function up to a thousand times a turn, as long as the I/O thread goes on posting.
  it("timers and sockets get a turn between any two batches of them", async () => {
    const reads = 20_000;
    const world = await rig.world({
      observed: false,
      readTimeoutMs: 25_000,
      clientOptions: { maxPending: 2 * reads, maxPendingBytes: 1 << 30 },
    });
    const load = world.cache.cached(async (_id: number) => 1, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id) => id,
      defaultConfig: REMOTE_ONLY,
    });
    let turns = 0;
    let over = false;
    const count = () => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    const all = world.cache.enable(() => Promise.all(Array.from({ length: reads }, (_, id) => load(id))));
    setImmediate(count);
    await all;
    over = true;
    expect(world.stats("GetUser").sourceCalls).toBe(reads);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(reads / BATCH_EVENTS) - 1);
    await world.written();
  });
});
