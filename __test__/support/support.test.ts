import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connectNodeRedis } from "./clients";
import { type FaultProxy, startFaultProxy } from "./fault-proxy";
import { startBlackHole, startFaultServer, startHttpServer, startResetter, startWrongBytes } from "./fault-server";
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

describe("the tests' fault proxy, with a server that sends what it is sent", () => {
  /** Two connections through a proxy to an echo, and what came back on the first. */
  async function echoed() {
    const echo = await startFaultServer((socket) => void socket.on("data", (chunk) => socket.write(chunk)));
    const proxy = await startFaultProxy(echo.port);
    const socket = connect({ host: "127.0.0.1", port: proxy.port });
    let text = "";
    let end = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      end = error.code ?? "";
    });
    socket.on("close", () => {
      end ||= "closed";
    });
    onTestFinished(async () => {
      socket.destroy();
      await proxy.close();
      await echo.close();
    });
    const came = (wanted: string) => until(`${JSON.stringify(wanted)} comes, not ${text}`, () => text === wanted);
    socket.write("+a\r\n");
    await came("+a\r\n");
    return {
      echo,
      proxy,
      socket,
      came,
      text: () => text,
      ended: (how: string) => until(how, () => end === how),
      hasEnded: () => end !== "",
    };
  }

  it("delays replies, in order, and delivers what is left at the end", async () => {
    const { proxy, socket, came } = await echoed();
    const delays = [30, 1, 100_000];
    proxy.delayReplies(() => delays.shift() ?? 0);
    for (const text of ["+b\r\n", "+c\r\n", "+d\r\n"]) {
      const before = proxy.heldBytes;
      socket.write(text);
      await until("it is held", () => proxy.heldBytes !== before || delays.length < 2);
    }
    await came("+a\r\n+b\r\n+c\r\n");
    proxy.heal();
    await came("+a\r\n+b\r\n+c\r\n+d\r\n");
  });

  it("lets replies trickle", async () => {
    const { proxy, socket, came, text } = await echoed();
    proxy.trickleReplies(1, 1);
    socket.write("+bcdefghijkl\r\n");
    await until("a part has come", () => text().length > "+a\r\n".length);
    expect(proxy.heldBytes).toBeGreaterThan(0);
    await came("+a\r\n+bcdefghijkl\r\n");
  });

  it("puts wrong bytes in the place of replies, but never inside a value, and resets what has a gap", async () => {
    const { proxy, socket, came, ended } = await echoed();
    socket.write("$4\r\nva");
    await came("+a\r\n$4\r\nva");
    proxy.garbleReplies("?!");
    socket.write("lu\r\n+b\r\n");
    await came("+a\r\n$4\r\nvalu\r\n?!");
    proxy.heal();
    await ended("ECONNRESET");
  });

  it.each<[string, (proxy: FaultProxy) => void, boolean]>([
    ["requests", (proxy) => proxy.loseRequests(), false],
    ["replies", (proxy) => proxy.loseReplies(), true],
  ])("loses %s alone, and resets what has a gap", async (_name, lose, arrives) => {
    const { echo, proxy, socket, text, ended } = await echoed();
    lose(proxy);
    socket.write("+b\r\n");
    await until("it is lost", () => proxy.lostBytes > 0);
    proxy.heal();
    await ended("ECONNRESET");
    expect(text()).toBe("+a\r\n");
    expect(echo.received.toString().endsWith("+b\r\n")).toBe(arrives);
  });

  it.each([false, true])("cuts each connection after so many bytes, with RST: %s", async (withReset) => {
    const { proxy, socket, text, hasEnded } = await echoed();
    proxy.cutRepliesAfter(2, withReset);
    socket.write("+bcd\r\n");
    // After bytes of the same moment, some systems tell a reset as an end.
    await until("the connection ends", hasEnded);
    expect("+a\r\n+b".startsWith(text())).toBe(true);
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
