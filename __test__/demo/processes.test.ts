import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { runModule } from "../support/child";

const index = fileURLToPath(new URL("../../scripts/demo/index.mjs", import.meta.url));
const servers = new URL("../../scripts/demo/servers.mjs", import.meta.url).href;

function start(args: string[], env = {}) {
  return spawn(process.execPath, [index, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
}

/** Process id to parent's id of everything that runs and is not a zombie. */
function processes() {
  const lines = execFileSync("ps", ["-eo", "pid=,ppid=,stat="], { encoding: "utf8" }).trim().split("\n");
  const rows = lines.map((line) => line.trim().split(/\s+/));
  return new Map(rows.flatMap(([pid, ppid, stat]) => (stat?.startsWith("Z") ? [] : [[Number(pid), Number(ppid)]])));
}

const childrenOf = (parent: number | undefined) =>
  [...processes()].flatMap(([pid, ppid]) => (ppid === parent ? [pid] : []));

async function output(child: ReturnType<typeof start>) {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (text += chunk));
  const [code] = await once(child, "exit");
  return { code, text };
}

describe("the demo's processes", () => {
  let demo: ReturnType<typeof start> | undefined;
  afterEach(() => demo?.kill("SIGKILL"));

  it.each<[NodeJS.Signals, number | null]>([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGKILL", null],
  ])("%s ends all of them", async (signal, code) => {
    demo = start(["--only", "plain"]);
    let text = "";
    demo.stdout?.on("data", (chunk) => (text += chunk));
    await vi.waitUntil(() => text.includes("healthy"), { timeout: 25_000 });
    const children = childrenOf(demo.pid);
    // The source, the guard, the service and redis-server.
    expect(children.length).toBe(4);

    const ended = once(demo, "exit");
    demo.kill(signal);
    expect((await ended)[0]).toBe(code);
    await vi.waitUntil(() => !children.some((pid) => processes().has(pid)), { timeout: 10_000 });
  });

  it("end with the second part as well", async () => {
    demo = start(["--only", "tail"]);
    let text = "";
    demo.stdout?.on("data", (chunk) => (text += chunk));
    await vi.waitUntil(() => text.includes("sent"), { timeout: 25_000 });
    const children = childrenOf(demo.pid);
    // Two sources, the guard, the service and redis-server.
    expect(children.length).toBe(5);

    const ended = once(demo, "exit");
    demo.kill("SIGKILL");
    await ended;
    await vi.waitUntil(() => !children.some((pid) => processes().has(pid)), { timeout: 10_000 });
  });

  it("do not keep a script that is done with its server", async () => {
    const script = `
      import { RedisServer } from ${JSON.stringify(servers)};
      const redis = await RedisServer.start();
      redis.end();
      console.log("done");`;
    expect(await runModule(script)).toEqual({ code: 0, signal: null, stdout: "done\n", stderr: "" });
  });

  it.each([
    [
      "a missing redis-server",
      [],
      { REDIS_SERVER: "/nowhere/redis-server" },
      /^demo: .*redis-server cannot be run: install/m,
    ],
    ["an unknown option", ["--jsn"], {}, /^demo: Unknown option '--jsn'/m],
    ["an unknown variant", ["--only", "other"], {}, /^demo: no variant is called other$/m],
  ])("says in one line what is wrong: %s", async (_, args, env, line) => {
    demo = start(args, env);
    const { code, text } = await output(demo);
    expect(code).toBe(2);
    expect(text).toMatch(line);
    expect(text).not.toMatch(/^\s+at /m);
  });
});
