// Bundles that leave the package outside, as the README says, run in a folder without their sources.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { consumerTools } from "../../scripts/support/consumers.mjs";
import { emptyProject, fixture, project, run, succeed, tool, use, withRedis } from "./support.mjs";

/** A folder with the sources, without the package: a bundler that looked into it would not find it. */
function sources(name) {
  const folder = emptyProject(name);
  cpSync(fixture("service"), join(folder, "src"), { recursive: true });
  return folder;
}

/** Runs the bundle in `out` where nothing but the installed package is beside it. */
async function runBundle(folder, file) {
  const place = await project("deployed");
  cpSync(join(folder, "out"), place, { recursive: true });
  rmSync(folder, { recursive: true });
  await withRedis((env) => use(process.execPath, [file], { cwd: place, env }));
}

const formats = { esm: "mjs", cjs: "cjs" };

for (const [format, ext] of Object.entries(formats)) {
  test(`esbuild: a bundle in ${format} form`, async () => {
    const folder = sources("esbuild");
    await succeed(
      tool("esbuild/bin/esbuild"),
      [
        ...[`src/service.${ext}`, `src/worker.${ext}`, "--bundle", "--platform=node", "--outdir=out"],
        ...[`--format=${format}`, `--out-extension:.js=.${ext}`, "--external:dialcache-native"],
        // An ES module bundle has no require for the CommonJS file that it takes in.
        ...(format === "esm"
          ? [`--banner:js=import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`]
          : []),
      ],
      { cwd: folder },
    );
    await runBundle(folder, `service.${ext}`);
  });
}

const webpackForms = {
  esm: {
    experiments: { outputModule: true },
    externalsType: "module",
    // The worker is an entry of its own, found beside the bundle.
    module: { parser: { javascript: { worker: false, url: false, importMeta: false } } },
  },
  cjs: { externalsType: "commonjs", node: { __dirname: false } },
};

for (const [format, ext] of Object.entries(formats)) {
  test(`webpack: a bundle in ${format} form`, async () => {
    const folder = sources("webpack");
    const config = {
      ...webpackForms[format],
      mode: "production",
      target: "node20",
      context: folder,
      entry: { service: `./src/service.${ext}`, worker: `./src/worker.${ext}` },
      output: { path: join(folder, "out"), filename: `[name].${ext}`, module: format === "esm" },
      externals: ["dialcache-native"],
    };
    const script = `
      require(${JSON.stringify(tool("webpack"))})(${JSON.stringify(config)}, (error, stats) => {
        if (error || stats.hasErrors()) {
          console.error(error ?? stats.toString());
          process.exitCode = 1;
        }
      });`;
    await succeed(process.execPath, ["-e", script], { cwd: folder });
    await runBundle(folder, `service.${ext}`);
  });
}

test("esbuild without the external: says which file it cannot take in", async () => {
  const folder = await project("inside", { files: "service" });
  const args = ["use.cjs", "--bundle", "--platform=node", "--outdir=out"];
  const { status, output } = await run(tool("esbuild/bin/esbuild"), args, { cwd: folder });
  assert.notEqual(status, 0);
  assert.match(output, /No loader is configured for "\.node" files/);
});

/** A port that was free a moment ago. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a built Next.js server, asks it for `paths` in turn, and ends it. */
async function askNext(script, cwd, env, paths) {
  const port = await freePort();
  const child = spawn(process.execPath, [script], {
    cwd,
    env: { ...process.env, ...env, PORT: String(port), HOSTNAME: "127.0.0.1", NODE_ENV: "production" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const exited = once(child, "exit");
  const ready = new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (data) => {
        output += data;
        if (/Ready in/.test(output)) resolve();
      });
    }
    exited.then(() => reject(new Error(`the server ended: ${output}`)));
  });
  try {
    await ready;
    const answers = [];
    for (const path of paths) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      assert.equal(response.status, 200, output);
      answers.push(await response.json());
    }
    return answers;
  } finally {
    child.kill();
    await exited;
  }
}

test("Next.js: a route handler with serverExternalPackages, deployed as a standalone server", async () => {
  // Next looks for itself above the project, and takes no symbolic links.
  const folder = await project("next", { files: "next", parent: consumerTools });
  try {
    const env = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };
    await succeed(process.execPath, [tool("next/dist/bin/next"), "build"], { cwd: folder, env });
    const place = emptyProject("next-deployed");
    cpSync(join(folder, ".next", "standalone"), place, { recursive: true, verbatimSymlinks: true });
    const script = [join(place, folder.slice(consumerTools.length + 1), "server.js")].find(existsSync);
    assert.ok(script, "the standalone server is where the workspace has the project");
    rmSync(folder, { recursive: true });
    await withRedis(async (env) => {
      const paths = ["/user/1", "/user/1"];
      const [first, second] = await askNext(script, place, env, paths);
      assert.deepEqual(first.first, { id: "1", run: 1 });
      assert.deepEqual([first.second, second.first, second.second], [first.first, first.first, first.first]);
      assert.equal(second.hits.local, 3);
      // Another process: its first lookup is answered by Redis.
      const [other] = await askNext(script, place, env, ["/user/1"]);
      assert.deepEqual([other.first, other.hits.remote], [first.first, 1]);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
