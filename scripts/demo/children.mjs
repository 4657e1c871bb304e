/** Everything the demo has started, so that whatever ends the demo ends all of it. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { within } from "./clock.mjs";

const started = new Set();
const guarded = new Set();
let guardian;

/** Has `thing.end()` called when the demo ends, unless `release` was called for it before. */
export function hold(thing) {
  started.add(thing);
  return thing;
}

export function release(thing) {
  started.delete(thing);
  thing.end();
}

export function endAll() {
  for (const thing of started) thing.end();
  started.clear();
  for (const child of guarded) child.kill("SIGKILL");
  guardian?.kill("SIGKILL");
  guardian = undefined;
}

/** Has the process killed when the demo ends, even when the demo is itself killed and cannot notice. */
export function guard(child) {
  guardian ??= startGuardian();
  const tell = () => guardian?.connected && guardian.send({ pids: Array.from(guarded, ({ pid }) => pid) }, () => {});
  guarded.add(child);
  child.once("exit", () => {
    guarded.delete(child);
    tell();
  });
  tell();
}

function startGuardian() {
  const child = fork(fileURLToPath(new URL("./guard.mjs", import.meta.url)), { execArgv: [] });
  // It ends when we do, so it must not be what keeps us from ending.
  child.unref();
  child.channel?.unref();
  return child;
}

/** A Node process of the demo that talks by messages of the form `{ type, ... }`. */
export class Child {
  #process;
  #exited;

  constructor(script, ...args) {
    const path = fileURLToPath(new URL(script, import.meta.url));
    this.#process = fork(path, args, { serialization: "advanced" });
    this.#exited = new Promise((_, reject) => {
      this.#process.once("error", reject);
      this.#process.once("exit", (code, signal) =>
        reject(new Error(`${[script, ...args].join(" ")} ended early (${signal ?? code})`)),
      );
    });
    this.#exited.catch(() => {});
  }

  send(message) {
    // A child that is gone is reported by whoever waits for its answer.
    this.#process.send(message, () => {});
  }

  /** The next message of this type; rejects when the process ends first. */
  async next(type) {
    let listen;
    const arrived = new Promise((resolve) => {
      listen = (message) => message.type === type && resolve(message);
      this.#process.on("message", listen);
    });
    try {
      return await Promise.race([arrived, this.#exited]);
    } finally {
      this.#process.off("message", listen);
    }
  }

  on(type, handle) {
    this.#process.on("message", (message) => message.type === type && handle(message));
  }

  /** Resolves when the process has ended by itself, or at the latest after `millis`. */
  async ended(millis) {
    await within(
      millis,
      this.#exited.catch(() => {}),
    );
  }

  end() {
    this.#process.kill("SIGKILL");
  }
}
