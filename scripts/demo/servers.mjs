/** A real redis-server as the demo's patient: frozen, thawed, killed and restarted, always by the id of our own child. */
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { guard } from "./children.mjs";

const START_TIMEOUT_MS = 10_000;
const START_ATTEMPTS = 5;

/** The demo cannot run here; the message is the one line to print. */
export class CannotRun extends Error {}

export class RedisServer {
  #binary = process.env.REDIS_SERVER || "redis-server";
  #child;
  #exited = Promise.resolve();

  /** Starts a server on a free port. */
  static async start() {
    const server = new RedisServer();
    try {
      for (let attempt = 1; ; attempt++) {
        server.port = await freePort();
        try {
          await server.#launch();
          return server;
        } catch (error) {
          if (error instanceof CannotRun || attempt === START_ATTEMPTS) throw error;
        }
      }
    } catch (error) {
      server.end();
      throw error;
    }
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid() {
    return this.#child.pid;
  }

  /** Stops the process where it stands: its connections stay open and nothing answers any more. */
  freeze() {
    this.#child.kill("SIGSTOP");
  }

  thaw() {
    this.#child.kill("SIGCONT");
  }

  /** Ends the process at once, as a crash would; its data is lost. */
  kill() {
    this.#child?.kill("SIGKILL");
  }

  /** Starts an empty server on the same port. */
  async restart() {
    this.kill();
    await this.#exited;
    await this.#launch();
  }

  /** Kills the server, frozen or not. Safe to call in any state, more than once. */
  end() {
    this.kill();
  }

  async #launch() {
    const options = {
      bind: "127.0.0.1",
      port: this.port,
      save: "",
      appendonly: "no",
      dir: tmpdir(),
      loglevel: "warning",
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = spawn(this.#binary, args, { stdio: "ignore" });
    this.#child = child;
    if (child.pid !== undefined) guard(child);
    const failed = new Promise((_, reject) => {
      child.once("error", (error) => {
        const unusable = error.code === "ENOENT" || error.code === "EACCES";
        reject(
          unusable
            ? new CannotRun(
                `${this.#binary} cannot be run: install Redis (Debian: apt-get install redis-server, macOS: brew install redis) or set REDIS_SERVER to its path`,
              )
            : error,
        );
      });
      child.once("exit", (code, signal) => reject(new Error(`redis-server ended while starting (${signal ?? code})`)));
    });
    this.#exited = failed.catch(() => {});
    await Promise.race([failed, answers(this.port, child.pid)]);
  }
}

/**
 * A free port below the range from which systems take local ports for outgoing connections. From within that range
 * another connection could take it while the server is down, and a client that retries could even connect to itself.
 */
async function freePort() {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await canListen(port)) return port;
  }
  throw new CannotRun("no free port was found between 20000 and 32000");
}

function canListen(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}

/** Waits until our own process answers on the port: it could be another's server, or a script that only starts ours. */
async function answers(port, pid) {
  const giveUpAt = Date.now() + START_TIMEOUT_MS;
  while (!(await serverInfo(port)).includes(`process_id:${pid}\r\n`)) {
    if (Date.now() > giveUpAt) throw new Error(`redis-server did not answer within ${START_TIMEOUT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The server's description of itself, or an empty string when there is none. */
function serverInfo(port) {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write("INFO server\r\nQUIT\r\n"));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on("data", (data) => {
      text += data;
    });
    socket.once("error", () => {});
    socket.once("close", () => resolve(text));
  });
}
