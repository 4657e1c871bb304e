// Reads the closing lines of the test runners.
import { stripVTControlCharacters } from "node:util";

function plainLines(output) {
  return stripVTControlCharacters(output)
    .split("\n")
    .map((line) => line.trim());
}

function number(line, word) {
  return Number(new RegExp(`(\\d+) ${word}`).exec(line)?.[1] ?? 0);
}

function counted(lines, words) {
  const sum = (word) => lines.reduce((all, line) => all + number(line, word), 0);
  return { passed: sum(words.passed), failed: sum(words.failed), skipped: sum(words.skipped) };
}

/** nextest's `Summary` line, or cargo test's `test result` lines. */
export function countCargo(output) {
  const lines = plainLines(output).filter((line) => /^Summary \[|^test result: /.test(line));
  return { lines, ...counted(lines, { passed: "passed", failed: "failed", skipped: "(?:skipped|ignored)" }) };
}

/** vitest's `Test Files` and `Tests` lines. */
export function countVitest(output) {
  const lines = plainLines(output).filter((line) => /^(?:Test Files|Tests) {2}/.test(line));
  const tests = lines.filter((line) => line.startsWith("Tests"));
  return { lines, ...counted(tests, { passed: "passed", failed: "failed", skipped: "(?:skipped|todo)" }) };
}

/** One line over all runners, for people and for tools that look for one. */
export function total(results) {
  const sum = (key) => results.reduce((all, result) => all + (result[key] ?? 0), 0);
  return `total: ${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`;
}
