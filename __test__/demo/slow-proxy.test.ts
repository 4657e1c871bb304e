import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";

const { lateness, SlowProxy } = await import(new URL("../../scripts/demo/tail/slow-proxy.mjs", import.meta.url).href);

const shape = { seed: 3, share: 0.03, minMs: 60, maxMs: 180 };

describe("how late replies are", () => {
  it("is the same for the same seed", () => {
    const draw = (late: object) => Array.from({ length: 200 }, lateness(late));
    expect(draw(shape)).toEqual(draw(shape));
    expect(draw({ ...shape, seed: 4 })).not.toEqual(draw(shape));
  });

  it("is nothing for most, and within its range for the asked share", () => {
    const all: number[] = Array.from({ length: 20_000 }, lateness(shape));
    const late = all.filter((ms) => ms > 0);
    expect(late.length / all.length).toBeCloseTo(0.03, 2);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(60);
    expect(Math.max(...late)).toBeLessThan(180);
  });
});

describe("the proxy before Redis", () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  it("keeps replies in order, holds back values alone, and only once it has begun", async () => {
    // Answers what it is sent, one reply for each request.
    const server = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
    ends.push(() => server.close());
    await once(server, "listening");
    const proxy = await SlowProxy.start((server.address() as AddressInfo).port);
    ends.push(() => proxy.end());
    const client = connect(Number(new URL(proxy.url).port), "127.0.0.1");
    ends.push(() => client.destroy());
    await once(client, "connect");
    let text = "";
    client.on("data", (bytes) => (text += bytes));
    const answered = (expected: string) => vi.waitUntil(() => text === expected, { timeout: 10_000, interval: 1 });

    client.write("$1\r\na\r\n");
    await answered("$1\r\na\r\n");
    expect(proxy.counts.late).toBe(0);

    proxy.begin({ seed: 1, share: 1, minMs: 50, maxMs: 51 });
    client.write("$1\r\nb\r\n");
    await vi.waitUntil(() => proxy.counts.late === 1, { timeout: 10_000, interval: 1 });
    client.write("+OK\r\n");
    await answered("$1\r\na\r\n$1\r\nb\r\n+OK\r\n");
    expect(proxy.counts).toEqual({ replies: 1, late: 1 });
  });

  it("closes the other side of a connection that ends", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    ends.push(() => server.close());
    await once(server, "listening");
    const proxy = await SlowProxy.start((server.address() as AddressInfo).port);
    ends.push(() => proxy.end());
    const client = connect(Number(new URL(proxy.url).port), "127.0.0.1");
    const [behind] = await once(server, "connection");
    behind.resume();
    const closed = once(behind, "close");
    client.destroy();
    await closed;
    expect(behind.destroyed).toBe(true);
  });
});
