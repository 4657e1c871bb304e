import * as dialcache from "dialcache-native";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { runModule, runScript } from "./support/child";
import { type RedisServer, startRedis } from "./support/redis-server";
import { compiled, snippetsOf, typeErrors } from "./support/snippets";

const snippets = snippetsOf("README.md", Object.keys(dialcache));

describe("The README's snippets", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  beforeEach(() => server.command("FLUSHALL"));
  afterAll(() => server.stop());

  it("are there", () => {
    expect(snippets.length).toBeGreaterThan(8);
  });

  it("pass the compiler", () => {
    expect(typeErrors(snippets)).toEqual([]);
  });

  it.each(snippets.filter(({ runs }) => runs))("$title: runs, prints what it says, and ends", async (snippet) => {
    const env = { REDIS_URL: server.url };
    const code = compiled(snippet);
    const run = code.includes("require(") ? runScript(code, env, false) : runModule(code, env);
    expect(await run).toEqual({ code: 0, signal: null, stdout: snippet.prints, stderr: "" });
  });
});
