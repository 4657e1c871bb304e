/**
 * `npm run demo`: Redis is frozen, killed and restarted under load, once below a plain cache-aside and once below this package; then Redis and
 * the origins of a source are merely slow, once with hedging and once without.
 */
import { HELP, optionsFrom } from "./arguments.mjs";
import { endAll } from "./children.mjs";
import { demo } from "./demo.mjs";
import { CannotRun } from "./servers.mjs";

const LAUNCHER_CHECK_MS = 500;

process.on("exit", endAll);
for (const [signal, code] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 })) {
  process.once(signal, () => process.exit(code));
}
// A reader that has left, as `head` does, has seen what it wanted.
process.stdout.on("error", () => process.exit(141));
// A shell between npm and this process dies of a signal without passing it on; its end is ours too.
const launcher = process.ppid;
setInterval(() => process.ppid === launcher || process.exit(129), LAUNCHER_CHECK_MS).unref();

try {
  const options = optionsFrom(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  process.exit(await demo(options));
} catch (error) {
  console.error(error instanceof CannotRun ? `demo: ${error.message}` : error);
  process.exit(2);
}
