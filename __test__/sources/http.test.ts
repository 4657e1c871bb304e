import { describe, expect, it, vi } from "vitest";
import { HedgeLostError, HttpStatusError, SourceAttemptsError } from "../../lib/errors";
import { httpSource } from "../../lib/http-source";
import type { SourceContext } from "../../lib/source-types";
import { answering, silent, stalling, startOrigin } from "../support/origin";
import { until } from "../support/real-time";
import { freePort } from "../support/redis-server";
import { rejection } from "../support/sources";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

describe("httpSource", () => {
  it("resolves with the Response of a request made of the call's arguments", async () => {
    const origin = await startOrigin(answering(200, "Ada", { "x-from": "origin" }));
    const users = httpSource({
      name: "users",
      endpoints: [`${origin.url}/v1/`],
      path: (id: string, version: number) => `/users/${encodeURIComponent(id)}?v=${version}`,
      headers: (id) => ({ "x-id": id }),
    });
    const response = await users("a/b", 2);
    expect(response).toBeInstanceOf(Response);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-from")).toBe("origin");
    expect(await response.text()).toBe("Ada");
    expect(origin.got).toMatchObject([{ method: "GET", url: "/v1/users/a%2Fb?v=2", headers: { "x-id": "a/b" } }]);
  });

  it("sends method, headers and body as they are given", async () => {
    const origin = await startOrigin(answering(201));
    const create = httpSource({
      name: "create",
      endpoints: [new URL(origin.url)],
      method: "post",
      path: "users",
      headers: { "content-type": "application/json" },
      body: async (user: { name: string }) => JSON.stringify(user),
    });
    expect((await create({ name: "Ada" })).status).toBe(201);
    expect(origin.got).toMatchObject([
      { method: "POST", url: "/users", headers: { "content-type": "application/json" }, body: '{"name":"Ada"}' },
    ]);
  });

  it("keeps a path made of arguments on the endpoint", async () => {
    const origin = await startOrigin(answering(200));
    const users = httpSource({ name: "users", endpoints: [origin.url], path: (id: string) => id });
    for (const path of ["//evil.example/x", "@evil.example", ".evil.example", "http://evil.example", ""]) {
      await (await users(path)).text();
    }
    expect(origin.got.map(({ url }) => url)).toEqual([
      "//evil.example/x",
      "/@evil.example",
      "/.evil.example",
      "/http://evil.example",
      "/",
    ]);
  });

  it("rejects when path or headers throw, or the path is no text, without a request", async () => {
    const origin = await startOrigin(answering(200));
    const error = new Error("no path");
    const throws = httpSource({
      name: "users",
      endpoints: [origin.url, origin.url],
      failover: {},
      path: () => {
        throw error;
      },
    });
    expect(await rejection(throws())).toBe(error);
    const wrong = httpSource({ name: "users", endpoints: [origin.url], path: (() => 1) as never });
    expect(await rejection(wrong())).toMatchObject({ option: "path" });
    const late = httpSource({ name: "users", endpoints: [origin.url], path: (() => Promise.reject(error)) as never });
    expect(await rejection(late())).toMatchObject({ option: "path" });
    expect(origin.got).toEqual([]);
  });

  it("rejects once when both headers and body fail", async () => {
    const users = httpSource({
      name: "users",
      endpoints: ["http://127.0.0.1:1"],
      method: "POST",
      headers: () => Promise.reject(new Error("no headers")),
      body: () => {
        throw new Error("no body");
      },
    });
    expect(await rejection(users())).toMatchObject({ message: expect.stringMatching(/^no (headers|body)$/) });
  });
});

describe("the first to get headers wins", () => {
  it("before its body is there; the loser's connection is closed", async () => {
    const slow = await startOrigin(silent);
    const fast = await startOrigin(stalling);
    const winners: unknown[] = [];
    const users = httpSource({
      name: "users",
      endpoints: [slow.url, fast.url],
      hedge: { delayMs: 20 },
      onWinner: ({ kind, endpoint, losers }) => void winners.push({ kind, endpoint, losers }),
    });
    const response = await users();
    expect(winners).toEqual([{ kind: "hedge", endpoint: 1, losers: 1 }]);
    await until("the loser's connection is closed", () => slow.aborted === 1);
    expect(fast.aborted).toBe(0);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(Buffer.from((await reader.read()).value as Uint8Array).toString()).toBe("beginning");
    fast.waiting[0]?.end(" and end");
    expect(Buffer.from((await reader.read()).value as Uint8Array).toString()).toBe(" and end");
    expect(users.stats()).toMatchObject({ pending: 0, timers: 0, hedges: { started: 1, won: 1 } });
  });

  it("with cancelLoser: false, a loser that gets headers later has its unread body cancelled", async () => {
    const slow = await startOrigin(silent);
    const fast = await startOrigin(answering(200, "fast"));
    const users = httpSource({
      name: "users",
      endpoints: [slow.url, fast.url],
      hedge: { delayMs: 10, cancelLoser: false },
    });
    expect(await (await users()).text()).toBe("fast");
    await until("the slow request is there", () => slow.waiting.length === 1);
    expect(slow.aborted).toBe(0);
    stalling(slow.waiting[0]!, slow.got[0]!);
    await until("its body is cancelled", () => slow.aborted === 1);
    expect(users.stats()).toMatchObject({ pending: 0, attempts: { primary: { ok: 1 } } });
  });

  it("the caller's abort closes the connections of all attempts", async () => {
    const origins = [await startOrigin(silent), await startOrigin(silent)];
    const users = httpSource({ name: "users", endpoints: origins.map(({ url }) => url), hedge: { delayMs: 10 } });
    const caller = new AbortController();
    const call = rejection(users.execute({ signal: caller.signal }));
    await until("both have a request", () => origins.every(({ waiting }) => waiting.length === 1));
    caller.abort("enough");
    expect(await call).toBe("enough");
    await until("both are closed", () => origins.every(({ aborted }) => aborted === 1));
  });

  it("the timeout closes the connection", async () => {
    const origin = await startOrigin(silent);
    const users = httpSource({ name: "users", endpoints: [origin.url], timeoutMs: 30 });
    expect(await rejection(users())).toMatchObject({ code: "DIALCACHE_DEADLINE_EXCEEDED", timeoutMs: 30 });
    await until("it is closed", () => origin.aborted === 1);
  });
});

describe("failOnStatuses", () => {
  it("fails over, with the body of the answer cancelled", async () => {
    const failing = await startOrigin((response) => {
      response.writeHead(503);
      response.write("beginning of a long excuse");
    });
    const healthy = await startOrigin(answering(200, "fine"));
    const users = httpSource({ name: "users", endpoints: [failing.url, healthy.url], failover: {} });
    expect(await (await users()).text()).toBe("fine");
    await until("the unread body is cancelled", () => failing.aborted === 1);
    expect(users.stats().attempts).toMatchObject({ primary: { error: 1 }, failover: { ok: 1 } });
  });

  it("of the last attempt rejects with an error that says source, endpoint and status", async () => {
    const origin = await startOrigin(answering(503, "secret"));
    const alone = httpSource({ name: "users", endpoints: [origin.url] });
    const error = await rejection(alone());
    expect(error).toBeInstanceOf(HttpStatusError);
    expect(error).toMatchObject({ source: "users", endpoint: 0, status: 503 });
    const several = httpSource({ name: "users", endpoints: [origin.url, origin.url], failover: {} });
    const all = (await rejection(several())) as SourceAttemptsError;
    expect(all).toBeInstanceOf(SourceAttemptsError);
    expect(all.errors).toMatchObject([{ endpoint: 0 }, { endpoint: 1 }]);
    expect(JSON.stringify([error, all, ...all.errors])).not.toContain("secret");
  });

  it.each([404, 429, 501])("has not %s by default: that is a result", async (status) => {
    const origin = await startOrigin(answering(status));
    const users = httpSource({ name: "users", endpoints: [origin.url, origin.url], failover: {}, retry: {} });
    expect((await users()).status).toBe(status);
    expect(origin.got).toHaveLength(1);
  });

  it("is what the option says, what failover says before it, and what the call says before that", async () => {
    const origin = await startOrigin(answering(429));
    const endpoints = [origin.url];
    const users = httpSource({ name: "users", endpoints, failOnStatuses: [429] });
    expect(await rejection(users())).toMatchObject({ status: 429 });
    const both = httpSource({ name: "users", endpoints, failOnStatuses: [429], failover: { failOnStatuses: [] } });
    expect((await both()).status).toBe(429);
    expect(await rejection(both.execute({ failover: { failOnStatuses: [429] } }))).toMatchObject({ status: 429 });
    expect((await users.execute({ failover: { failOnStatuses: [] } })).status).toBe(429);
  });

  it("a dead endpoint is a connection error, which fails over too", async () => {
    const healthy = await startOrigin(answering(200, "fine"));
    const dead = `http://127.0.0.1:${await freePort()}`;
    const users = httpSource({ name: "users", endpoints: [dead, healthy.url], failover: {} });
    expect(await (await users()).text()).toBe("fine");
  });
});

describe("beforeSend", () => {
  it("is called anew for each attempt, with a request of its own", async () => {
    const failing = await startOrigin(answering(503));
    const healthy = await startOrigin(answering(200));
    const seen: [Request, number][] = [];
    const users = httpSource({
      name: "users",
      endpoints: [failing.url, healthy.url],
      method: "PUT",
      idempotent: true,
      body: "payload",
      failover: {},
      beforeSend: async (request: Request, ctx: SourceContext) => {
        seen.push([request, ctx.attempt]);
        request.headers.set("x-signature", `${ctx.attempt} for ${new URL(request.url).port}`);
      },
    });
    expect((await users()).status).toBe(200);
    expect(seen.map(([, attempt]) => attempt)).toEqual([1, 2]);
    expect(seen[0]?.[0]).not.toBe(seen[1]?.[0]);
    expect(failing.got).toMatchObject([{ body: "payload", headers: { "x-signature": `1 for ${failing.port}` } }]);
    expect(healthy.got).toMatchObject([{ body: "payload", headers: { "x-signature": `2 for ${healthy.port}` } }]);
  });

  it("may answer another request", async () => {
    const origin = await startOrigin(answering(200));
    const users = httpSource({
      name: "users",
      endpoints: [origin.url],
      path: "/before",
      beforeSend: (request) => new Request(new URL("/after", request.url), { headers: { "x-new": "yes" } }),
    });
    await users();
    expect(origin.got).toMatchObject([{ url: "/after", headers: { "x-new": "yes" } }]);
  });

  it("changes nothing about how a loser ends: its connection is closed", async () => {
    const slow = await startOrigin(silent);
    const fast = await startOrigin(answering(200));
    const users = httpSource({
      name: "users",
      endpoints: [slow.url, fast.url],
      hedge: { delayMs: 10 },
      beforeSend: async (request, { attempt }) => {
        if (attempt > 1) await until("the slow request is there", () => slow.waiting.length === 1);
        request.headers.set("x-signature", "yes");
      },
    });
    expect((await users()).status).toBe(200);
    await until("the loser's connection is closed", () => slow.aborted === 1);
  });

  it("that is still at it when the attempt loses sends nothing", async () => {
    const first = await startOrigin(answering(200));
    const second = await startOrigin(answering(200, "second"));
    let sign: () => void = () => {};
    let lost: AbortSignal | undefined;
    const users = httpSource({
      name: "users",
      endpoints: [first.url, second.url],
      hedge: { delayMs: 10 },
      beforeSend: (_request, ctx) => {
        if (ctx.attempt > 1) return;
        lost = ctx.signal;
        return new Promise<void>((resolve) => {
          sign = resolve;
        });
      },
    });
    expect(await (await users()).text()).toBe("second");
    sign();
    expect(lost?.reason).toBeInstanceOf(HedgeLostError);
    await (await fetch(first.url)).text();
    expect(first.got).toHaveLength(1);
  });

  it("that throws fails the attempt for good", async () => {
    const origin = await startOrigin(answering(200));
    const error = new Error("no key");
    const users = httpSource({
      name: "users",
      endpoints: [origin.url, origin.url],
      failover: {},
      beforeSend: () => Promise.reject(error),
    });
    expect(await rejection(users())).toBe(error);
    expect(origin.got).toEqual([]);
  });
});

describe("a body that can be sent once", () => {
  const stream = (): ReadableStream => new Blob(["streamed"]).stream();

  it("is sent by a source that calls once", async () => {
    const origin = await startOrigin(answering(200));
    const upload = httpSource({ name: "upload", endpoints: [origin.url], method: "POST", body: () => stream() });
    await upload();
    expect(origin.got).toMatchObject([{ body: "streamed" }]);
  });

  it.each([
    ["a web stream", stream],
    ["an async generator", async function* (): AsyncGenerator<Uint8Array> {}],
  ])("%s is refused where a call may be made twice, before anything is sent", async (_what, body) => {
    const origin = await startOrigin(answering(200));
    const upload = httpSource({
      name: "upload",
      endpoints: [origin.url, origin.url],
      method: "PUT",
      idempotent: true,
      failover: {},
      body: body as () => ReadableStream,
    });
    expect(await rejection(upload())).toMatchObject({ code: "DIALCACHE_INVALID_OPTION", option: "body" });
    expect(origin.got).toEqual([]);
  });
});

describe("the global fetch", () => {
  it("may be one that answers anything", async () => {
    const users = httpSource({ name: "users", endpoints: ["http://127.0.0.1:1"] });
    for (const answer of [undefined, null, "text", { status: 200 }]) {
      vi.spyOn(globalThis, "fetch").mockResolvedValue(answer as never);
      expect(await users()).toBe(answer);
    }
    vi.spyOn(globalThis, "fetch").mockResolvedValue({ status: 503 } as never);
    expect(await rejection(users())).toMatchObject({ status: 503 });
  });

  it("may answer what cannot be looked at, or not be cancelled", async () => {
    const users = httpSource({ name: "users", endpoints: ["http://127.0.0.1:1"] });
    const error = new Error("not to be looked at");
    const fails = (): never => {
      throw error;
    };
    const opaque = new Proxy({}, { get: (_target, name) => (name === "then" ? undefined : fails()) });
    vi.spyOn(globalThis, "fetch").mockResolvedValue(opaque as never);
    expect(await rejection(users())).toBe(error);
    for (const body of [{ locked: false }, { locked: false, cancel: fails }, { locked: false, cancel: 1 }]) {
      vi.spyOn(globalThis, "fetch").mockResolvedValue({ status: 503, body } as never);
      expect(await rejection(users())).toMatchObject({ status: 503 });
    }
    expect(users.stats()).toMatchObject({ pending: 0, inFlight: 0 });
  });

  it("is looked up at each attempt", async () => {
    const users = httpSource({ name: "users", endpoints: ["http://127.0.0.1:1"] });
    const response = new Response("patched");
    vi.spyOn(globalThis, "fetch").mockResolvedValue(response);
    expect(await users()).toBe(response);
  });
});
