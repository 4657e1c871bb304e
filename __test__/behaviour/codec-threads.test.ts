import { describe, expect, it, vi } from "vitest";
import { loadBinding } from "../../lib/load-binding";
import { CLIENT_RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const { codecRunsHere } = loadBinding();

describe.each(CLIENT_RIGS)("$client, $time: what is compressed", (kind) => {
  const rig = useRig(kind);

  it.each([
    ["5 KB", 5_000],
    ["64 KB", 65_536],
    ["1 MB", 1_000_000],
  ])("is neither compressed nor decompressed on the JavaScript thread: %s", async (_name, length) => {
    const world = await rig.world({ readTimeoutMs: 25_000 });
    const before = codecRunsHere();
    const value = { text: "compressible ".repeat(length / 13) };
    const source = vi.fn(async () => value);
    const load = world.load("GetUser", source);
    expect(await load("1")).toEqual(value);
    await world.written();
    expect(await rig.server.command("STRLEN", world.key("GetUser", "1"))).toBeLessThan(length / 10);
    expect(await load("1")).toEqual(value);
    expect(source).toHaveBeenCalledTimes(1);
    expect(codecRunsHere()).toBe(before);
  });
});
