// Writes CHANGELOG.md from the commits (cliff.toml says how).
//
//   npm run changelog                       what is not released yet stands under "Unreleased"
//   npm run changelog -- --tag v0.2.0       it stands under this version, which is about to be released
//   npm run changelog -- --check v0.2.0     whether the file is the one that this command would write
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureModules } from "./ensure.mjs";
import { isMain, main, note, root, SetupError } from "./support/run.mjs";

const file = join(root, "CHANGELOG.md");

/** The whole text, for the repository at `folder`. */
export function changelog(tag, folder = root) {
  const cli = join(root, "node_modules", "git-cliff", "lib", "cli", "cli.js");
  const args = [cli, "--config", join(root, "cliff.toml"), "--offline", ...(tag ? ["--tag", tag] : [])];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new SetupError(`git-cliff failed: ${stderr}`);
  // The template's own line breaks depend on which of its parts are empty.
  return `${stdout.trim()}\n`.replace(/\n+(?=#)/g, "\n\n").replace(/\n{3,}/g, "\n\n");
}

// The day of the release is that of its tag, and not there yet while it is being made.
const dateless = (text) => text.replace(/^(## \[\S+\]) - \d{4}-\d\d-\d\d$/gm, "$1");

if (isMain(import.meta.url)) {
  await main(() => {
    const [option, tag] = process.argv.slice(2);
    if (option && !(["--tag", "--check"].includes(option) && /^v\d/.test(tag ?? ""))) {
      throw new SetupError("use: npm run changelog [-- --tag vVERSION | --check vVERSION]");
    }
    ensureModules();
    const text = changelog(tag);
    if (option !== "--check") {
      writeFileSync(file, text);
      return;
    }
    if (dateless(readFileSync(file, "utf8")) !== dateless(text)) {
      throw new SetupError(`CHANGELOG.md is not that of ${tag}: run "npm run changelog -- --tag ${tag}" and commit it`);
    }
    note(`CHANGELOG.md is that of ${tag}`);
  });
}
