import { describe, expect, it, onTestFinished } from "vitest";
import { runScript } from "../support/child";
import { startBlackHole } from "../support/fault-server";
import { freePort, startRedis } from "../support/redis-server";

/** A cache, a native client and one call, without `close()`. */
const SERVICE = `
const client = new dialcache.RedisClient({ url: process.env.URL, ...JSON.parse(process.env.CLIENT ?? "{}") });
const cache = new dialcache.DialCache({ namespace: "exit", redis: { client, readTimeoutMs: 50 }, logger: null });
const load = cache.cached(async () => "source", {
  keyType: "user_id", useCase: "GetUser", cacheKey: () => "1",
  defaultConfig: new dialcache.DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
});
`;

const ONE_CALL = `${SERVICE} cache.enable(() => load()).then((value) => console.log(value));`;
const QUIET_END = { code: 0, signal: null, stdout: "source\n", stderr: "" };

async function frozenServer() {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  await server.freeze();
  return server;
}

describe("A script that makes a cache and a native client, makes one call and ends without close() exits by itself", () => {
  it("with a live server, its write included", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    expect(await runScript(ONE_CALL, { URL: server.url })).toEqual(QUIET_END);
    expect(await server.command("EXISTS", "exit:user_id:1#GetUser:dialcache-frame-v1")).toBe(1);
  });

  it("with a dead port", async () => {
    expect(await runScript(ONE_CALL, { URL: `redis://127.0.0.1:${await freePort()}` })).toEqual(QUIET_END);
  });

  it("with a frozen server, though the reply of its read stays outstanding", async () => {
    const server = await frozenServer();
    const env = { URL: server.url, CLIENT: JSON.stringify({ responseTimeoutMs: 600_000, connectTimeoutMs: 600_000 }) };
    expect(await runScript(ONE_CALL, env)).toEqual(QUIET_END);
  });

  it("with a frozen server and a connection that was ready", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const script = `${SERVICE}
      client.ready({ timeoutMs: 5000 }).then(async () => {
        process.kill(Number(process.env.PID), "SIGSTOP");
        console.log(await cache.enable(() => load()));
      });`;
    const env = { URL: server.url, PID: String(server.pid), CLIENT: JSON.stringify({ responseTimeoutMs: 600_000 }) };
    expect(await runScript(script, env)).toEqual(QUIET_END);
  });

  it("with a connection attempt that never ends, and no call at all", async () => {
    const hole = await startBlackHole();
    onTestFinished(() => hole.close());
    const env = { URL: hole.url, CLIENT: JSON.stringify({ connectTimeoutMs: 600_000 }) };
    expect(await runScript(SERVICE, env)).toMatchObject({ code: 0, stderr: "" });
  });

  it("while it waits to reconnect", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const script = `${SERVICE}
      client.on("status", (status) => { if (status !== "ready") console.log("lost"); });
      client.ready({ timeoutMs: 5000 }).then(() => process.kill(Number(process.env.PID), "SIGKILL"));
      // Holds the process until the loss was noticed, then nothing does.
      const hold = setInterval(() => { if (client.status !== "ready" && client.stats().reconnects >= 0) clearInterval(hold); }, 5);`;
    const env = {
      URL: server.url,
      PID: String(server.pid),
      CLIENT: JSON.stringify({ reconnect: { baseDelayMs: 500_000, maxDelayMs: 600_000 } }),
    };
    expect(await runScript(script, env)).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("A pending deadline as the only thing left is still delivered", () => {
  it("a read's, of a native client", async () => {
    const server = await frozenServer();
    expect(await runScript(ONE_CALL, { URL: server.url })).toEqual(QUIET_END);
  });

  it("a read's, of a JavaScript client that never answers", async () => {
    const script = `
      const client = { read: () => new Promise(() => {}), write: async () => true, invalidate: async () => {} };
      const cache = new dialcache.DialCache({ redis: { client, readTimeoutMs: 50 }, logger: null });
      const load = cache.cached(async () => "source", {
        keyType: "user_id", useCase: "GetUser", cacheKey: () => "1",
        defaultConfig: new dialcache.DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
      });
      cache.enable(() => load()).then((value) => console.log(value));`;
    expect(await runScript(script)).toEqual(QUIET_END);
  });

  it("a source's", async () => {
    const script = `
      const cache = new dialcache.DialCache({ logger: null });
      const load = cache.cached(() => new Promise(() => {}), {
        keyType: "user_id", useCase: "GetUser", cacheKey: () => "1", fallbackTimeoutMs: 50,
        defaultConfig: dialcache.DialCacheKeyConfig.enabled(60),
      });
      cache.enable(() => load()).catch((error) => console.log(error.code, error.status));`;
    expect(await runScript(script)).toMatchObject({ code: 0, stdout: expect.stringMatching(/ 504\n$/), stderr: "" });
  });
});

describe("Whatever Redis does, the process does not crash", () => {
  it("without any error listener: dead, killed, frozen, half open, not Redis", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const script = `
      process.on("unhandledRejection", (reason) => { console.log("unhandled", reason); process.exitCode = 1; });
      const urls = JSON.parse(process.env.URLS);
      (async () => {
        for (const [index, url] of urls.entries()) {
          const client = new dialcache.RedisClient({ url, connectTimeoutMs: 50, responseTimeoutMs: 50 });
          const cache = new dialcache.DialCache({ redis: { client, readTimeoutMs: 20 }, logger: null });
          const load = cache.cached(async () => "source", {
            keyType: "user_id", useCase: "GetUser", cacheKey: () => "1",
            defaultConfig: new dialcache.DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
          });
          for (let call = 0; call < 20; call += 1) {
            await cache.enable(() => load());
            if (index === 0 && call === 10) process.kill(Number(process.env.PID), "SIGKILL");
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
        }
        console.log("alive");
      })();`;
    const hole = await startBlackHole();
    onTestFinished(() => hole.close());
    const URLS = JSON.stringify([server.url, `redis://127.0.0.1:${await freePort()}`, hole.url]);
    const result = await runScript(script, { URLS, PID: String(server.pid) });
    expect(result).toEqual({ code: 0, signal: null, stdout: "alive\n", stderr: "" });
  });
});
