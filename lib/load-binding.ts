import type * as Binding from "../binding.js";

/** Platforms that have a binary package, named as the packages are. */
const PLATFORMS = [
  "linux-x64-gnu",
  "linux-arm64-gnu",
  "linux-x64-musl",
  "linux-arm64-musl",
  "darwin-x64",
  "darwin-arm64",
  "win32-x64-msvc",
  "win32-arm64-msvc",
] as const;

const FRESH = `delete node_modules and package-lock.json and run "npm install" on this platform`;

/**
 * Loads the addon through the generated loader, which tries the build in the checkout and then the platform's package.
 *
 * @throws Error with one line that names what is missing and what to type, or why what is installed does not load.
 * @internal
 */
export function loadBinding(): typeof Binding {
  const binding = load();
  const { version } = require("../package.json") as { version: string };
  // A binary from before it told its version tells none.
  if (binding.VERSION !== version) throw new Error(skewed(version, binding.VERSION ?? "older"));
  return binding;
}

function load(): typeof Binding {
  try {
    // The generated loader stands beside both lib/ and dist/, so one relative path serves either.
    return require("../binding.js") as typeof Binding;
  } catch (error) {
    throw new Error(explain(error), { cause: error });
  }
}

function explain(error: unknown): string {
  const platform = platformName();
  if (!PLATFORMS.some((name) => name === platform)) {
    return `dialcache-native: there is no binary for ${platform}, only for ${PLATFORMS.join(", ")}: run "npm install" on one of these`;
  }
  // The loader keeps one message for each place it looked in; one that is not about a missing file tells the reason.
  const reason = messages(error).find((message) => !/^Cannot find (?:module|package|native binding)/.test(message));
  if (reason) {
    return `dialcache-native: the binary for ${platform} does not load: ${firstLine(reason)}: ${FRESH}`;
  }
  const others = PLATFORMS.filter(isInstalled);
  if (others.length > 0) {
    return (
      `dialcache-native: the binary for ${platform} is not installed, but the one for ${others.join(", ")}: ` +
      `node_modules or the lock file come from another platform: ${FRESH}`
    );
  }
  return (
    `dialcache-native: the binary for ${platform} is not installed: run "npm install --include=optional"; ` +
    `if it is still missing, the lock file comes from another platform: ${FRESH}`
  );
}

function skewed(version: string, binary: string): string {
  return (
    `dialcache-native: version skew: the package is ${version}, its binary for ${platformName()} ${binary}: ` +
    `run "npm install dialcache-native@${version} --include=optional"; if it stays, ${FRESH}`
  );
}

function isInstalled(platform: string): boolean {
  try {
    require.resolve(`dialcache-native-${platform}/package.json`);
    return true;
  } catch {
    return false;
  }
}

function messages(error: unknown): string[] {
  const found: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) found.push(at.message);
  return found;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function platformName(): string {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === "win32") return `${base}-msvc`;
  if (process.platform !== "linux") return base;
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return `${base}-${report?.header?.glibcVersionRuntime ? "gnu" : "musl"}`;
}
