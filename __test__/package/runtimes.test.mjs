// A service on every runtime, as ES module and as CommonJS: hits of each layer, Redis frozen, a worker thread, and an
// orderly end.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { packages, project, succeed, tool, use, withRedis } from "./support.mjs";

const fetched = {
  "Node 20": [tool("node-20/bin/node")],
  "Node 22": [tool("node-22/bin/node")],
  "Node 24": [tool("node-24/bin/node")],
  "Node 26": [tool("node-26/bin/node")],
  Bun: [tool("@oven/bun-linux-x64-baseline/bin/bun")],
  Deno: [tool("@deno/linux-x64-glibc/deno"), "run", "--allow-all"],
};
// They are fetched as binaries of this platform; elsewhere the Node at hand is the one to test.
const isFetched = process.platform === "linux" && process.arch === "x64";
const runtimes = isFetched ? fetched : { [`Node ${process.versions.node}`]: [process.execPath] };

let folder;
let bare;
before(async () => {
  folder = await project("runtimes", { files: "service" });
  bare = await project("bare", { files: "service", flags: ["--omit=optional"] });
});

for (const [name, [command, ...args]] of Object.entries(runtimes)) {
  for (const service of ["service.mjs", "service.cjs"]) {
    test(`${name} runs ${service}`, async () => {
      await withRedis((env) => use(command, [...args, service], { cwd: folder, env }));
    });
  }
  test(`${name}: import and require give one and the same`, async () => {
    for (const script of ["use.mjs", "use.cjs"]) await use(command, [...args, script], { cwd: folder });
  });
  test(`${name}: a missing binary is named in one line`, async () => {
    const output = await succeed(command, [...args, "missing.cjs"], { cwd: bare });
    assert.match(output, /^dialcache-native: the binary for \S+ is not installed: run "npm install [^\n]*\n$/);
    assert.ok(output.includes(packages.host));
  });
}
