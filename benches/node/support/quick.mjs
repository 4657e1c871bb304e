/** `--quick`: few and short rounds, and only the contenders that a budget names. Enough to see a collapse. */
export const isQuick = process.argv.includes("--quick");

/** The usual number of something, or a smaller one. */
export function usual(full, quick) {
  return isQuick ? quick : full;
}
