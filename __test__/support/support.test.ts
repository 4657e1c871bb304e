import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connectNodeRedis } from "./clients";
import { startFaultProxy } from "./fault-proxy";
import { startBlackHole, startHttpServer, startResetter, startWrongBytes } from "./fault-server";
import { decodeFrame, encodeFrame } from "./frame";
import { until } from "./real-time";
import { type RedisServer, startRedis } from "./redis-server";
import { failOnUnhandled } from "./unhandled";

failOnUnhandled();

describe("the tests' redis-server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  it("answers while it runs, not while frozen, and again once thawed", async () => {
    expect(await server.command("PING")).toBe("PONG");
    await server.freeze();
    let answered = false;
    const late = server.command("PING").then(() => {
      answered = true;
    });
    await until("the connection is accepted by the kernel", () => true);
    expect(answered).toBe(false);
    server.thaw();
    await late;
    expect(answered).toBe(true);
  });

  it("refuses connections when killed and comes back empty at the same address", async () => {
    const { port, pid } = server;
    await server.command("SET", "kept", "no");
    await server.kill();
    await expect(server.command("PING")).rejects.toThrow("ECONNREFUSED");
    await server.restart();
    expect(server.port).toBe(port);
    expect(server.pid).not.toBe(pid);
    expect(await server.command("GET", "kept")).toBeNull();
  });

  it("can be killed while frozen", async () => {
    await server.freeze();
    await server.restart();
    expect(await server.command("PING")).toBe("PONG");
  });

  it("listens on a unix socket", async () => {
    const unix = await startRedis({ unixSocket: true });
    onTestFinished(() => unix.stop());
    expect(unix.url).toMatch(/^unix:\/\//);
    expect(await unix.command("PING")).toBe("PONG");
  });

  it("asks for a password and knows ACL users", async () => {
    const guarded = await startRedis({
      users: ["default on >admin ~* +@all", "app on >secret ~app:* +get"],
      password: "admin",
    });
    onTestFinished(() => guarded.stop());
    expect(await guarded.command("PING")).toBe("PONG");
    await expect(guarded.command("AUTH", "app", "wrong")).rejects.toThrow("WRONGPASS");
    expect(await guarded.command("AUTH", "app", "secret")).toBe("OK");
  });

  it("speaks TLS with certificates of its own authority", async () => {
    const secure = await startRedis({ tls: true });
    onTestFinished(() => secure.stop());
    const socket = connectTls({ host: "localhost", port: secure.port, ca: secure.certificates?.ca ?? "" });
    onTestFinished(() => void socket.destroy());
    socket.write("PING\r\n");
    const reply = await new Promise((resolve, reject) => {
      socket.once("data", (bytes) => resolve(bytes.toString()));
      socket.once("error", reject);
    });
    expect(reply).toBe("+PONG\r\n");
    expect(socket.authorized).toBe(true);
  });
});

describe("the tests' fault proxy", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  async function proxied() {
    const proxy = await startFaultProxy(server.port);
    const client = await connectNodeRedis(proxy.url);
    onTestFinished(async () => {
      await client.close();
      await proxy.close();
    });
    return { proxy, client };
  }

  it("holds replies back and delivers them later", async () => {
    const { proxy, client } = await proxied();
    await client.write({ valueKey: "held", value: "value", cacheTtlMs: 10_000 });
    proxy.holdReplies();
    const read = client.read({ valueKey: "held" });
    await until("the reply is held", () => proxy.heldBytes > 0);
    expect(client.pending).toBe(1);
    proxy.releaseReplies();
    expect(await read).toMatchObject({ payload: "value" });
    expect(client.pending).toBe(0);
  });

  it("cuts a reply in the middle", async () => {
    const { proxy, client } = await proxied();
    await client.write({ valueKey: "cut", value: "x".repeat(1_000), cacheTtlMs: 10_000 });
    proxy.cutRepliesAfter(100);
    await expect(client.read({ valueKey: "cut" })).rejects.toThrow();
    proxy.heal();
    await until("the client is connected again", async () => {
      const value = await client.read({ valueKey: "cut" }).catch(() => undefined);
      return value !== undefined;
    });
  });

  it("resets connections and swallows what is sent", async () => {
    const { proxy, client } = await proxied();
    const read = client.read({ valueKey: "reset" });
    proxy.refuse();
    await expect(read).rejects.toThrow();
    await until("no connection is left", () => proxy.open === 0);
    proxy.heal();
    await until("the client is connected again", () => proxy.open === 1);
    await until("it answers", async () => (await client.read({ valueKey: "reset" }).catch(() => undefined)) === null);
    const before = proxy.receivedBytes;
    proxy.blackHole();
    client.read({ valueKey: "swallowed" }).catch(() => {});
    await until("the command was sent", () => proxy.receivedBytes > before);
    expect(client.pending).toBe(1);
  });
});

describe("the tests' fault servers", () => {
  const firstBytes = (port: number) =>
    new Promise<string>((resolve) => {
      const socket = connect({ host: "127.0.0.1", port });
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? ""));
      socket.once("data", (bytes) => {
        resolve(bytes.toString());
        socket.destroy();
      });
      socket.once("close", () => resolve("closed"));
      socket.write("*1\r\n$4\r\nPING\r\n");
    });

  it("answer as a web server, with wrong bytes, with a reset", async () => {
    const http = await startHttpServer();
    const wrong = await startWrongBytes("!oops\r\n");
    const resetter = await startResetter();
    onTestFinished(async () => {
      await Promise.all([http.close(), wrong.close(), resetter.close()]);
    });
    expect(await firstBytes(http.port)).toMatch(/^HTTP\/1.1 400/);
    expect(await firstBytes(wrong.port)).toBe("!oops\r\n");
    expect(await firstBytes(resetter.port)).toMatch(/ECONNRESET|EPIPE|closed/);
    expect(http.received.toString()).toContain("PING");
    expect(resetter.accepted).toBe(1);
  });

  it("accept and never say a word", async () => {
    const hole = await startBlackHole();
    onTestFinished(() => hole.close());
    const socket = connect({ host: "127.0.0.1", port: hole.port });
    onTestFinished(() => void socket.destroy());
    socket.write("PING\r\n");
    await until("it received the command", () => hole.received.length > 0);
    expect(socket.bytesRead).toBe(0);
  });
});

describe("the tests' frame", () => {
  it.each([
    ["text", "é"],
    ["bytes", Buffer.from([0, 1, 255])],
  ])("keeps %s", (_kind, payload) => {
    expect(decodeFrame(encodeFrame(payload, 1_700_000_000_000))).toEqual({
      version: 1,
      createdAtMs: 1_700_000_000_000,
      payload,
    });
  });

  it("is a miss when short or of another version, an error when its encoding is unknown", () => {
    const frame = encodeFrame("x", 1);
    expect(decodeFrame(frame.subarray(0, 9))).toBeNull();
    expect(decodeFrame(Buffer.concat([Buffer.from([2]), frame.subarray(1)]))).toBeNull();
    frame[9] = 7;
    expect(() => decodeFrame(frame)).toThrow("encoding 7");
  });
});
