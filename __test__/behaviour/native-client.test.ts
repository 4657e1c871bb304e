import { DialCache, DialCacheRedisPayloadEncodingError, RedisClient } from "dialcache-native";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ReadResult, ScriptedClient } from "../support/clients";
import { startFaultProxy } from "../support/fault-proxy";
import { startBlackHole } from "../support/fault-server";
import { until } from "../support/real-time";
import { freePort, type RedisServer, type RedisServerOptions, startRedis } from "../support/redis-server";
import { loader } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

type Options = ConstructorParameters<typeof RedisClient>[0];

async function serve(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedis(options);
  onTestFinished(() => server.stop());
  return server;
}

function connect(options: Options): RedisClient {
  const client = new RedisClient(options);
  onTestFinished(() => client.close());
  return client;
}

/** A reply in either of the forms the interface allows. */
function payloadOf(reply: ReadResult): string | Buffer | null {
  return typeof reply === "object" && reply !== null && !Buffer.isBuffer(reply) ? reply.payload : reply;
}

let works = 0;

/** A value written and read back through a cache over `client`. */
async function expectWorks(client: RedisClient) {
  await client.ready({ timeoutMs: 10_000 });
  works += 1;
  const cache = new DialCache({ namespace: `native-${works}`, redis: { client, readTimeoutMs: 20_000 }, logger: null });
  let calls = 0;
  const load = loader(cache, "GetUser", async () => ++calls);
  await load("1");
  expect(await cache.drain({ timeoutMs: 10_000 })).toBe(true);
  expect(await load("1")).toBe(1);
  expect(calls).toBe(1);
  await cache.close();
}

describe("RedisClient connects", () => {
  it("over TCP", async () => {
    await expectWorks(connect({ url: (await serve()).url }));
  });

  it.each(["unix://", "redis+unix://"])("over a unix socket as %s", async (scheme) => {
    const server = await serve({ unixSocket: true });
    await expectWorks(connect({ url: server.url.replace("unix://", scheme) }));
  });

  it("with TLS and a given authority", async () => {
    const server = await serve({ tls: true });
    await expectWorks(connect({ url: server.url, tls: { ca: server.certificates?.ca ?? "" } }));
  });

  it("with TLS and a client certificate, where one is asked for", async () => {
    const server = await serve({ tls: true, requireClientCertificate: true });
    const { ca = "", clientCert = "", clientKey = "" } = server.certificates ?? {};
    const without = connect({ url: server.url, tls: { ca } });
    await expect(without.ready({ timeoutMs: 300 })).rejects.toThrow();
    await expectWorks(connect({ url: server.url, tls: { ca, cert: clientCert, key: clientKey } }));
  });

  it("with TLS under another name", async () => {
    const server = await serve({ tls: true });
    const ca = server.certificates?.ca ?? "";
    const wrong = connect({ url: server.url, tls: { ca, servername: "elsewhere.example" } });
    await expect(wrong.ready({ timeoutMs: 300 })).rejects.toThrow();
    await expectWorks(
      connect({ url: server.url.replace("localhost", "127.0.0.1"), tls: { ca, servername: "localhost" } }),
    );
  });

  it("with TLS unverified, only when asked to", async () => {
    const server = await serve({ tls: true });
    const strict = connect({ url: server.url });
    await expect(strict.ready({ timeoutMs: 300 })).rejects.toThrow();
    await expectWorks(connect({ url: server.url, tls: { rejectUnauthorized: false } }));
  });

  it("with a password, given or in the url", async () => {
    const server = await serve({ password: "p@ss:word/1" });
    await expectWorks(connect({ url: server.url, password: "p@ss:word/1" }));
    await expectWorks(
      connect({ url: server.url.replace("redis://", `redis://:${encodeURIComponent("p@ss:word/1")}@`) }),
    );
  });

  it("as an ACL user", async () => {
    const server = await serve({ users: ["default off", "app on >secret ~native-* +@all"] });
    await expectWorks(connect({ url: server.url, username: "app", password: "secret" }));
  });

  it("with credentials asked for at each attempt", async () => {
    const server = await serve({ users: ["default on >admin ~* +@all", "app on >first ~* +@all"], password: "admin" });
    const passwords = ["first", "second"];
    let asked = 0;
    const client = connect({
      url: server.url,
      credentials: async () => ({ username: "app", password: passwords[asked++] ?? "second" }),
    });
    await expectWorks(client);
    expect(asked).toBe(1);
    await server.command("ACL", "SETUSER", "app", "resetpass", ">second");
    await server.command("CLIENT", "KILL", "USER", "app");
    await until("it reconnects with the new password", () => client.stats().reconnects > 0);
    await expectWorks(client);
    expect(asked).toBeGreaterThan(1);
  });

  it("to a database, under a name", async () => {
    const server = await serve();
    const client = connect({ url: server.url, database: 3, clientName: "users-api" });
    await expectWorks(client);
    expect(String(await server.command("INFO", "keyspace"))).toMatch(/^db3:keys=1/m);
    expect(String(await server.command("CLIENT", "LIST"))).toContain("name=users-api");
    await expectWorks(connect({ url: `${server.url}/4` }));
    expect(String(await server.command("INFO", "keyspace"))).toMatch(/^db4:keys=1/m);
  });
});

describe("RedisClient's life", () => {
  it("is made at once for a dead server; ready() waits, gives up, and succeeds later", async () => {
    const port = await freePort();
    const client = connect({ url: `redis://127.0.0.1:${port}` });
    expect(client.status).not.toBe("ready");
    await expect(client.ready({ timeoutMs: 50 })).rejects.toThrow();
    const server = await serve({ args: ["--port", String(port)] });
    await client.ready({ timeoutMs: 10_000 });
    expect(client.status).toBe("ready");
    expect(client.stats()).toMatchObject({ status: "ready", pending: 0, pendingBytes: 0 });
    await server.stop();
  });

  it("tells its status as it changes", async () => {
    const server = await serve();
    const client = connect({ url: server.url });
    const seen: string[] = [];
    client.on("status", (status) => seen.push(status));
    await client.ready({ timeoutMs: 5_000 });
    await server.kill();
    await until("the loss is known", () => client.status !== "ready");
    await server.restart();
    await until("it is ready again", () => client.status === "ready");
    await client.close();
    await until("the last status came", () => seen.at(-1) === client.status);
    expect(client.status).toBe("closed");
    expect(seen.filter((status) => status === "ready")).toHaveLength(2);
    expect(seen.indexOf("ready")).toBeLessThan(seen.lastIndexOf("ready"));
    expect(new Set(seen)).toEqual(new Set(["ready", "reconnecting", "closed"]));
  });

  it("close() rejects what is pending, is idempotent, and ends everything after it", async () => {
    const server = await serve();
    const client = connect({ url: server.url, responseTimeoutMs: 60_000 });
    await client.ready({ timeoutMs: 5_000 });
    await server.freeze();
    const pending = Promise.allSettled([
      client.read({ valueKey: "a" }),
      client.read({ valueKey: "b" }),
      client.write({ valueKey: "c", value: "x", cacheTtlMs: 1_000 }),
    ]);
    await Promise.all([client.close(), client.close()]);
    for (const outcome of await pending) {
      expect(outcome.status).toBe("rejected");
      expect(outcome.status === "rejected" && outcome.reason).toBeInstanceOf(Error);
    }
    await client.close();
    expect(client.status).toBe("closed");
    await expect(client.read({ valueKey: "a" })).rejects.toThrow(/closed/i);
    await expect(client.write({ valueKey: "a", value: "x", cacheTtlMs: 1_000 })).rejects.toThrow(/closed/i);
    await expect(client.ready({ timeoutMs: 1_000 })).rejects.toThrow(/closed/i);
  });

  it("close() during the first connection attempt", async () => {
    const hole = await startBlackHole();
    onTestFinished(() => hole.close());
    const client = connect({ url: hole.url, connectTimeoutMs: 60_000 });
    const waiting = Promise.allSettled([client.ready({ timeoutMs: 60_000 }), client.read({ valueKey: "a" })]);
    await until("the attempt is under way", () => hole.accepted === 1);
    await client.close();
    expect((await waiting).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });

  it("reads wait for the first connection attempt, inside their deadline", async () => {
    const server = await serve();
    const proxy = await startFaultProxy(server.port);
    onTestFinished(() => proxy.close());
    proxy.holdReplies();
    const client = connect({ url: proxy.url, connectTimeoutMs: 60_000 });
    const read = client.read({ valueKey: "a" });
    await until("the handshake is under way", () => proxy.heldBytes > 0);
    proxy.releaseReplies();
    expect(await read).toBeNull();
  });

  it("is a semantic client like any other", async () => {
    const server = await serve();
    const client = connect({ url: server.url });
    expect(await client.read({ valueKey: "absent" })).toBeNull();
    expect(await client.write({ valueKey: "text", value: "é", cacheTtlMs: 60_000 })).toBe(true);
    expect(await client.write({ valueKey: "bytes", value: Buffer.from([0, 1]), cacheTtlMs: 60_000 })).toBe(true);
    expect(payloadOf(await client.read({ valueKey: "text" }))).toBe("é");
    expect(payloadOf(await client.read({ valueKey: "bytes" }))).toEqual(Buffer.from([0, 1]));
    await server.command("RPUSH", "list", "x");
    await expect(client.read({ valueKey: "list" })).rejects.toThrow(/WRONGTYPE/);
  });

  it("passes the watermark on", async () => {
    const server = await serve();
    const client = connect({ url: server.url });
    const tracked = { valueKey: "value", watermarkKey: "watermark" };
    expect(await client.read(tracked)).toBeNull();
    expect(await client.write({ ...tracked, value: "x", cacheTtlMs: 60_000 })).toBe(true);
    expect(await client.read(tracked)).toBe("x");
    await server.command("SET", "watermark", "9".repeat(20));
    expect(await client.read(tracked)).toBeNull();
    expect(await client.write({ ...tracked, value: "x", cacheTtlMs: 60_000 })).toBe(false);
  });

  it("refuses what it would have to ignore", async () => {
    const server = await serve();
    const client = connect({ url: server.url });
    await expect(client.ready({ timeout: 5 } as never)).rejects.toThrow('did you mean "timeoutMs"?');
    await expect(client.ready({ timeoutMs: 0 })).rejects.toThrow(RangeError);
    await expect(client.ready(null as never)).rejects.toThrow(TypeError);
  });

  it("reports a frame of unknown encoding by the error of that name", async () => {
    const server = await serve();
    const client = connect({ url: server.url });
    await server.command("SET", "value", Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 1, 9, 0]));
    await expect(client.read({ valueKey: "value" })).rejects.toBeInstanceOf(DialCacheRedisPayloadEncodingError);
    expect(client.stats().lastErrorKind).toBe("encoding");
  });

  it("is in its caches' stats(), owned or given, open or closed", async () => {
    const server = await serve();
    const owner = new DialCache({ redis: { url: server.url, readTimeoutMs: 10_000 } });
    await until("the owned client is connected", () => owner.stats().client?.status === "ready");
    await owner.close();
    expect(owner.stats().client).toMatchObject({ status: "closed", pending: 0 });

    const client = connect({ url: server.url });
    const borrower = new DialCache({ redis: { client, readTimeoutMs: 10_000 } });
    expect(borrower.stats().client).toEqual(client.stats());
    expect(new DialCache().stats().client).toBeNull();
    const other = new ScriptedClient();
    expect(new DialCache({ redis: { client: other, readTimeoutMs: 10 } }).stats().client).toBeNull();
  });

  it("await using closes", async () => {
    const server = await serve();
    let outer: RedisClient;
    {
      await using client = new RedisClient({ url: server.url });
      outer = client;
      await client.ready({ timeoutMs: 5_000 });
    }
    expect(outer.status).toBe("closed");
  });
});
