/** Origins over HTTP in processes of their own, and what can be wrong with them. */
import { Child, hold } from "../../../scripts/demo/children.mjs";

const script = new URL("./origin-server.mjs", import.meta.url).href;

/** One origin. */
export class OriginProcess {
  #child;

  static async start(seed) {
    const child = hold(new Child(script, seed));
    const { url, pid } = await child.next("listening");
    return new OriginProcess(child, url, pid);
  }

  constructor(child, url, pid) {
    this.#child = child;
    this.url = url;
    this.pid = pid;
  }

  /** @param kind - "none", "delayed", "failing", or "frozen", for which the process is stopped. */
  trouble(kind) {
    process.kill(this.pid, kind === "frozen" ? "SIGSTOP" : "SIGCONT");
    if (kind !== "frozen") this.#child.send({ type: "trouble", kind });
  }

  /**
   * Requests it got, answers it has sent, and those whose caller closed the connection before; `open` are the rest. A request that was given up
   * before its connection stood is none of them.
   */
  async figures() {
    this.#child.send({ type: "figures" });
    const { requests, answered, aborted } = await this.#child.next("figures");
    return { requests, answered, aborted, open: requests - answered - aborted };
  }

  end() {
    this.#child.end();
  }
}

/** Their figures together. */
export async function figuresOf(origins) {
  const all = await Promise.all(origins.map((origin) => origin.figures()));
  const sum = (name) => all.reduce((total, figures) => total + figures[name], 0);
  return { requests: sum("requests"), answered: sum("answered"), aborted: sum("aborted"), open: sum("open") };
}

/** As many origins, each with latencies of its own. */
export function startOrigins(count) {
  return Promise.all(Array.from({ length: count }, (_, place) => OriginProcess.start(String(place + 1))));
}
