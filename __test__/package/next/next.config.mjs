import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

// Next itself is installed a folder above, as in a monorepo.
const root = dirname(dirname(fileURLToPath(import.meta.url)));

export default {
  // A native addon is loaded by Node, not bundled.
  serverExternalPackages: ["dialcache-native"],
  output: "standalone",
  outputFileTracingRoot: root,
  turbopack: { root },
};
