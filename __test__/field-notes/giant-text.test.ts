import { describe, expect, it, vi } from "vitest";
import { CLIENT_RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const SIZES = [
  // Between the longest string of JavaScript (2^29 - 24 units) and what a payload may decompress to (2^29 bytes).
  ["that no string can hold", 2 ** 29 - 8],
  ["of more than a payload may decompress to", 600 * 2 ** 20],
] as const;
const BLOCK_BYTES = 2 ** 17;
const ZSTD_TEXT = 0x01;

/** A text of `bytes` times the letter a as the envelope stores it: 16 KiB for half a gigabyte. */
function compressedText(bytes: number): Buffer {
  // One segment that states its size in four bytes, then run-length blocks.
  const header = Buffer.from([ZSTD_TEXT, 0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0]);
  header.writeUInt32LE(bytes, 6);
  const blocks: Buffer[] = [header];
  for (let left = bytes; left > 0; left -= BLOCK_BYTES) {
    const size = Math.min(left, BLOCK_BYTES);
    const block = Buffer.alloc(4, "a");
    block.writeUIntLE(Number(left <= BLOCK_BYTES) | (1 << 1) | (size << 3), 0, 3);
    blocks.push(block);
  }
  return Buffer.concat(blocks);
}

describe.each(CLIENT_RIGS)("$client, $time: a stored text", (kind) => {
  const rig = useRig(kind);

  it.each(SIZES)(
    "%s is a miss like any payload that does not load, and takes no other reply with it",
    async (_name, bytes) => {
      const world = await rig.world({ readTimeoutMs: 25_000 });
      const source = vi.fn(async () => "source");
      const load = world.load("GetUser", source);
      await world.plant("GetUser", "giant", compressedText(bytes));
      await world.plant("GetUser", "plain", '"plain"');
      expect(await Promise.all([load("plain"), load("giant"), load("plain")])).toEqual(["plain", "source", "plain"]);
      expect(source).toHaveBeenCalledTimes(1);
      expect(world.metrics.count("error")).toBe(1);
      expect(world.metrics.count("error", { error: "serialization_load" })).toBe(1);
      await world.written();
      expect(await world.stored("GetUser", "giant")).toMatchObject({ payload: '"source"' });
    },
  );
});
