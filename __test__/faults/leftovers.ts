import { until } from "../support/real-time";
import type { Topology } from "./topology";

/** What a process has now that a round must give back. */
export class Leftovers {
  readonly #resources = count(process.getActiveResourcesInfo());
  readonly #listeners = listeners();
  readonly #patienceMs: number;

  constructor(patienceMs = 5_000) {
    this.#patienceMs = patienceMs;
  }

  /** What is there beyond what was there when this was made, once there was time to end it. */
  async complaints(topology: Pick<Topology, "proxies">): Promise<string[]> {
    const found: string[] = [];
    const wait = (what: string, left: () => string) =>
      until(what, () => left() === "", this.#patienceMs).catch(() => found.push(`${what}: ${left()}`));
    await wait("connections left", () => {
      const open = topology.proxies.reduce((sum, proxy) => sum + proxy.open, 0);
      return open === 0 ? "" : String(open);
    });
    await wait("resources left", () => more(this.#resources, count(process.getActiveResourcesInfo())));
    await wait("listeners left", () => more(this.#listeners, listeners()));
    return found;
  }
}

function listeners(): Map<string, number> {
  const names = process.eventNames().map(String);
  return new Map(names.map((name) => [name, process.listenerCount(name)]));
}

function count(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  // The loop's own watch, and what waits for this very look.
  counts.delete("Timeout");
  counts.delete("Immediate");
  return counts;
}

function more(before: Map<string, number>, now: Map<string, number>): string {
  return [...now]
    .filter(([name, count]) => count > (before.get(name) ?? 0))
    .map(([name, count]) => `${count - (before.get(name) ?? 0)} ${name}`)
    .join(", ");
}
