import { DialCache, RedisClient } from "dialcache-native";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startFaultProxy } from "../support/fault-proxy";
import { startBlackHole, startHttpServer, startResetter, startWrongBytes } from "../support/fault-server";
import { until } from "../support/real-time";
import { recordLogger, recordMetrics } from "../support/recorders";
import { freePort, startRedis } from "../support/redis-server";
import { loader } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const SECRET = "s3cret-pa55word";

type Options = ConstructorParameters<typeof RedisClient>[0];

interface Case {
  readonly name: string;
  /** What the warning must let an operator tell. */
  readonly says: RegExp;
  /** Whether a connection comes about, and only commands fail. Default false. */
  readonly connects?: boolean;
  options(): Promise<Options>;
}

const CASES: readonly Case[] = [
  {
    name: "a wrong password",
    says: /WRONGPASS|password|auth/i,
    options: async () => {
      const server = await startRedis({ password: "right" });
      onTestFinished(() => server.stop());
      return { url: server.url, password: SECRET };
    },
  },
  {
    name: "a wrong password in the url",
    says: /WRONGPASS|password|auth/i,
    options: async () => {
      const server = await startRedis({ password: "right" });
      onTestFinished(() => server.stop());
      return { url: server.url.replace("redis://", `redis://app:${SECRET}@`) };
    },
  },
  {
    name: "no password where one is needed",
    says: /NOAUTH|password|auth/i,
    options: async () => {
      const server = await startRedis({ password: SECRET });
      onTestFinished(() => server.stop());
      return { url: server.url };
    },
  },
  {
    name: "an ACL user that may not read",
    connects: true,
    says: /NOPERM|permission/i,
    options: async () => {
      const server = await startRedis({
        users: ["default off", `app on >${SECRET} ~* -@all +hello +auth +ping +client +select`],
      });
      onTestFinished(() => server.stop());
      return { url: server.url, username: "app", password: SECRET };
    },
  },
  {
    name: "an unknown host",
    says: /host|resolve|lookup|name/i,
    options: async () => ({ url: `redis://app:${SECRET}@no-such-host.invalid:6379` }),
  },
  {
    name: "a closed port",
    says: /refused/i,
    options: async () => ({ url: `redis://app:${SECRET}@127.0.0.1:${await freePort()}` }),
  },
  {
    name: "an HTTP port",
    says: /protocol|unexpected|unknown|parse|invalid|not a redis/i,
    options: async () => {
      const server = await startHttpServer();
      onTestFinished(() => server.close());
      return { url: server.url, password: SECRET };
    },
  },
  {
    name: "wrong bytes",
    says: /protocol|unexpected|unknown|parse|invalid|not a redis/i,
    options: async () => {
      const server = await startWrongBytes("\u0000\u0001 nonsense\r\n");
      onTestFinished(() => server.close());
      return { url: server.url, password: SECRET };
    },
  },
  {
    name: "a port that resets each connection",
    says: /reset|broken pipe|closed/i,
    options: async () => {
      const server = await startResetter();
      onTestFinished(() => server.close());
      return { url: server.url, password: SECRET };
    },
  },
  {
    name: "a port that never answers",
    says: /within 100 ms/,
    options: async () => {
      const server = await startBlackHole();
      onTestFinished(() => server.close());
      return { url: server.url, password: SECRET, connectTimeoutMs: 100 };
    },
  },
  {
    name: "a TLS client on a plain port",
    says: /tls|handshake|time|closed|reset/i,
    options: async () => {
      const server = await startRedis();
      onTestFinished(() => server.stop());
      return { url: server.url.replace("redis://", `rediss://:${SECRET}@`) };
    },
  },
  {
    name: "a certificate nobody vouches for",
    says: /certificate|issuer/i,
    options: async () => {
      const server = await startRedis({ tls: true });
      onTestFinished(() => server.stop());
      return { url: server.url, password: SECRET };
    },
  },
  {
    name: "a unix socket that is not there",
    says: /no such file|not found/i,
    options: async () => ({ url: "unix:///nonexistent/redis.sock", password: SECRET }),
  },
];

describe("The source's value, one clear warning, no secret in it", () => {
  it.each(CASES)("$name", async ({ says, connects = false, options }) => {
    const client = new RedisClient(await options());
    const log = recordLogger();
    const metrics = recordMetrics();
    const cache = new DialCache({
      redis: { client, readTimeoutMs: 20_000 },
      logger: log.logger,
      metrics: metrics.adapter,
    });
    onTestFinished(async () => {
      await cache.close();
      await client.close();
    });
    const source = vi.fn(async () => "source");
    const load = loader(cache, "GetUser", source);
    expect(await load("1")).toBe("source");
    expect(source).toHaveBeenCalledTimes(1);
    expect(log.warnings).toHaveLength(1);
    expect(log.text()).toMatch(says);
    expect(log.text()).not.toContain(SECRET);
    expect(log.text()).not.toContain("user_id:1");
    expect(metrics.count("error", { error: "cache_read", layer: "remote" })).toBe(1);
    expect(metrics.count("error")).toBe(1);
    expect(JSON.stringify(client.stats())).not.toContain(SECRET);
    const ready = await client.ready({ timeoutMs: 50 }).then(
      () => "ready",
      (error: Error) => `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`,
    );
    expect(ready === "ready").toBe(connects);
    expect(ready).not.toContain(SECRET);
  });

  it("a reply cut in the middle, and recovery by itself", async () => {
    const server = await startRedis();
    const proxy = await startFaultProxy(server.port);
    const client = new RedisClient({ url: proxy.url, responseTimeoutMs: 10_000 });
    const log = recordLogger();
    const cache = new DialCache({ namespace: "cut", redis: { client, readTimeoutMs: 20_000 }, logger: log.logger });
    onTestFinished(async () => {
      await cache.close();
      await client.close();
      await proxy.close();
      await server.stop();
    });
    await client.ready({ timeoutMs: 5_000 });
    const source = vi.fn(async () => "x".repeat(5_000));
    const load = loader(cache, "GetUser", source);
    await load("1");
    await cache.drain({ timeoutMs: 5_000 });
    proxy.cutRepliesAfter(20);
    expect(await load("1")).toBe("x".repeat(5_000));
    expect(source).toHaveBeenCalledTimes(2);
    expect(log.warnings).toHaveLength(1);
    proxy.heal();
    await until("hits again", async () => {
      const before = source.mock.calls.length;
      await load("1");
      return source.mock.calls.length === before;
    });
  });

  it("nothing that inspects a client shows its password", async () => {
    const client = new RedisClient({ url: `redis://app:${SECRET}@127.0.0.1:${await freePort()}` });
    onTestFinished(() => client.close());
    const { inspect } = await import("node:util");
    const seen = `${inspect(client, { depth: 10, showHidden: true })} ${JSON.stringify(client)} ${String(client)}`;
    expect(seen).not.toContain(SECRET);
  });

  it.each([
    "not a url",
    `http://app:${SECRET}@127.0.0.1`,
    `redis://app:${SECRET}@127.0.0.1:99999`,
    `redis://app:${SECRET}@127.0.0.1/not-a-number`,
  ])("a url that cannot be used throws without repeating its password: %s", (url) => {
    let thrown: unknown;
    try {
      new RedisClient({ url });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(Error);
    expect(`${(thrown as Error).message} ${(thrown as Error).stack}`).not.toContain(SECRET);
  });
});
