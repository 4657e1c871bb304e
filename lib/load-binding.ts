import type * as Binding from "../binding.js";

/**
 * Loads the addon through the generated loader, which tries the build in the checkout and then the platform's package.
 *
 * @throws Error with one line that names the package to install, or why the installed one does not load.
 * @internal
 */
export function loadBinding(): typeof Binding {
  try {
    // The generated loader stands beside both lib/ and dist/, so one relative path serves either.
    return require("../binding.js") as typeof Binding;
  } catch (error) {
    throw new Error(explain(error), { cause: error });
  }
}

function explain(error: unknown): string {
  const platform = platformName();
  // The loader keeps one message for each place it looked in; one that is not about a missing file tells the reason.
  const reason = messages(error).find((message) => !/^Cannot find (?:module|native binding)/.test(message));
  if (reason) return `dialcache-native: the binary for ${platform} does not load: ${firstLine(reason)}`;
  return (
    `dialcache-native: the binary for ${platform} is not installed: ` +
    `run "npm install dialcache-native-${platform}", or install without --omit=optional on this platform`
  );
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
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return `${base}-${report.header?.glibcVersionRuntime ? "gnu" : "musl"}`;
}
