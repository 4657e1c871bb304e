// Randomised faults under load, against real servers: see docs/reliability.md. The rounds are written in TypeScript and
// use the package as it is published: `dialcache-native` is found through its own package.json.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensure } from "./ensure.mjs";
import { main, root } from "./support/run.mjs";

const folder = join(root, "target", "faults");

await main(async () => {
  ensure();
  const { build } = await import("vite");
  await build({
    root,
    configFile: false,
    logLevel: "error",
    build: {
      ssr: "__test__/faults/main.ts",
      outDir: folder,
      emptyOutDir: true,
      target: "node20",
      sourcemap: "inline",
      minify: false,
      rollupOptions: { external: /^[^./]/, output: { entryFileNames: "main.mjs" } },
    },
  });
  const { main: rounds } = await import(pathToFileURL(join(folder, "main.mjs")).href);
  process.exitCode = await rounds(process.argv.slice(2));
});
