import { inspect } from "node:util";
import { DialCache, RedisClient } from "dialcache-native";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import fc from "fast-check";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startFaultServer } from "../support/fault-server";
import { recordLogger, recordMetrics } from "../support/recorders";
import { freePort, type RedisServer, startRedis } from "../support/redis-server";
import { loader } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

/** Odd passwords: long enough that finding one in a text means that it stands there. */
const password = fc
  .string({ unit: fc.oneof(fc.constantFrom(..."@:/?#[]%&=+ '\"\\$€😀.-_~!*();,<>|^`{}\t"), fc.string()), minLength: 8 })
  .filter((text) => text.length >= 8 && /\S{3}/.test(text) && !text.includes("\0"))
  // Something that stands in no stack and no object by itself, as "prototype" does.
  .map((text) => [...text].map((char, place) => (place === 4 ? `kZ7${char}` : char)).join(""));

/** Every form in which a password may be written somewhere. */
function formsOf(secret: string): string[] {
  const forms = [secret, encodeURIComponent(secret), encodeURI(secret), JSON.stringify(secret).slice(1, -1)];
  return [...new Set([...forms, Buffer.from(secret).toString("base64"), inspect(secret).slice(1, -1)])];
}

/** All that can be seen of an error. */
function shown(value: unknown): string {
  if (!(value instanceof Error)) return `${String(value)} ${inspect(value, { depth: 10, showHidden: true })}`;
  const { message, stack, cause } = value;
  const nested = cause === undefined ? "" : shown(cause);
  return [message, stack, JSON.stringify(value), inspect(value, { depth: 10, showHidden: true }), nested].join("\n");
}

type Options = ConstructorParameters<typeof RedisClient>[0];

/** All that a service may see of a client and a cache over it, after a few calls. */
async function everythingSeen(options: Options): Promise<string> {
  const seen: string[] = [];
  const log = recordLogger();
  const metrics = recordMetrics();
  const registry = new Registry();
  createPrometheusDialCacheMetrics({ registry });
  let client: RedisClient;
  try {
    client = new RedisClient({
      reconnect: { baseDelayMs: 1, maxDelayMs: 2 },
      connectTimeoutMs: 200,
      responseTimeoutMs: 30,
      ...options,
    });
  } catch (error) {
    return shown(error);
  }
  client.on("status", (status) => seen.push(status));
  const cache = new DialCache({
    redis: { client, readTimeoutMs: 300 },
    logger: log.logger,
    metrics: metrics.adapter,
  });
  try {
    const load = loader(cache, "GetUser", async (id) => id, { trackForInvalidation: true });
    for (const id of ["1", "2"]) await load(id).catch((error: unknown) => seen.push(shown(error)));
    await cache.invalidateRemote("user_id", "1").catch((error: unknown) => seen.push(shown(error)));
    await client.ready({ timeoutMs: 10 }).catch((error: unknown) => seen.push(shown(error)));
    await client.read({ valueKey: "key" }).catch((error: unknown) => seen.push(shown(error)));
    await client
      .write({ valueKey: "key", value: "value", cacheTtlMs: 1_000 })
      .catch((error: unknown) => seen.push(shown(error)));
    await cache.drain({ timeoutMs: 500 });
    const stats = [client.stats(), cache.stats(), cache.getCoalescingState()];
    seen.push(log.text(), ...log.lines.flatMap(({ args }) => args.map(shown)));
    seen.push(...stats.map((figures) => `${JSON.stringify(figures)} ${shown(figures)}`));
    seen.push(JSON.stringify(metrics.events), await registry.metrics());
    for (const subject of [client, cache]) {
      seen.push(shown(subject), JSON.stringify(subject), String(subject), Object.keys(subject).join());
    }
  } finally {
    await cache.close();
    client.close();
  }
  await client.read({ valueKey: "key" }).catch((error: unknown) => seen.push(shown(error)));
  return seen.join("\n");
}

function expectNoSecret(seen: string, secret: string): void {
  expect(seen).not.toBe("");
  for (const form of formsOf(secret)) expect(seen.includes(form), `${form} in ${seen}`).toBe(false);
}

describe("A password is nowhere to be seen", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ password: "the one that is right" });
  });
  afterAll(() => server.stop());

  it.each<[string, (secret: string, port: number) => Options]>([
    ["an option", (secret, port) => ({ url: `redis://127.0.0.1:${port}`, username: "app", password: secret })],
    [
      "a url",
      (secret, port) => ({
        url: `redis://${encodeURIComponent(`user ${secret}`)}:${encodeURIComponent(secret)}@127.0.0.1:${port}`,
      }),
    ],
    ["a url, not encoded", (secret, port) => ({ url: `redis://app:${secret}@127.0.0.1:${port}` })],
    ["a node", (secret, port) => ({ nodes: [`redis://:${encodeURIComponent(secret)}@127.0.0.1:${port}`] })],
    [
      "credentials()",
      (secret, port) => ({
        url: `redis://127.0.0.1:${port}`,
        credentials: async () => ({ username: "app", password: secret }),
      }),
    ],
    [
      "an error of credentials()",
      (secret, port) => ({
        url: `redis://127.0.0.1:${port}`,
        credentials: () => Promise.reject(new Error(`no ${secret} in the vault`)),
      }),
    ],
  ])("given by %s and refused", async (_name, options) => {
    await fc.assert(
      fc.asyncProperty(password, async (secret) => {
        expectNoSecret(await everythingSeen(options(secret, server.port)), secret);
      }),
      { numRuns: 8 },
    );
  });

  it("taken by the server", async () => {
    const secret = "päss@wörd:/?#% right";
    const open = await startRedis({ password: secret });
    onTestFinished(() => open.stop());
    const url = `redis://:${encodeURIComponent(secret)}@127.0.0.1:${open.port}`;
    const seen = await everythingSeen({ url });
    expect(seen).toContain("ready");
    expectNoSecret(seen, secret);
  });

  it("with nobody there", async () => {
    const port = await freePort();
    for (const secret of ["s3cret-pa55word", "p@ss:w/rd%"]) {
      expectNoSecret(await everythingSeen({ url: `redis://127.0.0.1:${port}`, password: secret }), secret);
    }
  });

  it("repeated by the server, in whichever reply", async () => {
    for (const secret of ["s3cret-pa55word", "p@ss w/rd%41", "x".repeat(300)]) {
      for (const shape of [
        "-ERR unknown user %\r\n",
        "-% is wrong\r\n",
        "-WRONGPASS %\r\n",
        "+%\r\n",
        `$${Buffer.byteLength(secret)}\r\n%\r\n`,
        "*1\r\n+%\r\n",
        "-MOVED 1 %:6379\r\n",
        "-ASK 1 %:6379\r\n",
        "% is not the protocol\r\n",
      ]) {
        for (const isLoggedIn of [true, false]) {
          const parrot = await startFaultServer((socket) => {
            socket.on("data", (chunk: Buffer) => {
              const text = chunk.toString("latin1");
              const reply = text.includes("PING") ? "+PONG\r\n" : text.includes("AUTH") ? "+OK\r\n" : undefined;
              socket.write(isLoggedIn && reply !== undefined ? reply : shape.replace("%", () => secret));
            });
          });
          onTestFinished(() => parrot.close());
          expectNoSecret(await everythingSeen({ url: parrot.url, password: secret }), secret.slice(0, 40));
          expectNoSecret(await everythingSeen({ nodes: [parrot.url], password: secret }), secret.slice(0, 40));
        }
      }
    }
  });
});
