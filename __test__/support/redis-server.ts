import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type NetConnectOpts } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { turn } from "./real-time";
import { disown, own } from "./reaper";
import { type Reply, talk } from "./resp";
import { makeCertificates, type TestCertificates } from "./tls";

export interface RedisServerOptions {
  /** Path of the server's binary. Default: `redis-server` on PATH. */
  readonly binary?: string;
  /** Where to listen. Default: a free port, another one for each try. */
  readonly port?: number;
  /** Listen on a unix socket only. */
  readonly unixSocket?: boolean;
  /** Listen with TLS only, with certificates made for this server. */
  readonly tls?: boolean;
  /** With TLS: refuse clients without a certificate. Default false. */
  readonly requireClientCertificate?: boolean;
  /** The default user's password. */
  readonly password?: string;
  /** ACL users, as `user` lines of an ACL file without the word `user`: `"app on >secret ~* +@all"`. */
  readonly users?: readonly string[];
  /** Further command line arguments, such as `["--maxmemory", "10mb"]`. */
  readonly args?: readonly string[];
}

/** A real server in its own process and temporary folder, without persistence. */
export interface RedisServer extends AsyncDisposable {
  /** For clients; without credentials. */
  readonly url: string;
  /** 0 for a unix socket. */
  readonly port: number;
  readonly socketPath: string | undefined;
  readonly certificates: TestCertificates | undefined;
  readonly pid: number;
  /** Whether its process is there and not frozen. */
  readonly isRunning: boolean;
  /** Stops the process (SIGSTOP): connections stay open, nothing is answered. Resolves once it stands still. */
  freeze(): Promise<void>;
  /** Lets a frozen process go on (SIGCONT). */
  thaw(): void;
  /** Ends the process at once (SIGKILL); its port refuses connections afterwards. */
  kill(): Promise<void>;
  /** Starts it again at the same address, killing it first if it still runs. Its data is gone. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. Idempotent. */
  stop(): Promise<void>;
  /** Runs one command as an administrator over a connection of its own; rejects with the server's error. Not with TLS. */
  command(...args: (string | number | Buffer)[]): Promise<Reply>;
}

/** Starts a server and resolves when it accepts connections. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = new Server(options);
  await server.start();
  return server;
}

class Server implements RedisServer {
  readonly #options: RedisServerOptions;
  readonly #dir = mkdtempSync(join(tmpdir(), "dialcache-redis-"));
  readonly socketPath: string | undefined;
  readonly certificates: TestCertificates | undefined;
  #port = 0;
  #process: ChildProcess | undefined;
  #isFrozen = false;

  constructor(options: RedisServerOptions) {
    this.#options = options;
    this.#port = options.port ?? 0;
    this.socketPath = options.unixSocket ? join(this.#dir, "redis.sock") : undefined;
    this.certificates = options.tls ? makeCertificates(this.#dir) : undefined;
    if (options.users !== undefined) {
      writeFileSync(join(this.#dir, "users.acl"), options.users.map((line) => `user ${line}\n`).join(""));
    }
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    if (this.socketPath !== undefined) {
      return `unix://${this.socketPath}`;
    }
    return this.certificates === undefined ? `redis://127.0.0.1:${this.#port}` : `rediss://localhost:${this.#port}`;
  }

  get pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) {
      throw new Error("this redis-server is not running");
    }
    return pid;
  }

  get isRunning(): boolean {
    const child = this.#process;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null && !this.#isFrozen;
  }

  async start(): Promise<void> {
    if (this.socketPath !== undefined || this.#port !== 0) {
      return this.#launch();
    }
    for (let attempt = 1; ; attempt += 1) {
      this.#port = await freePort();
      try {
        return await this.#launch();
      } catch (error) {
        // Another process may have taken the port meanwhile.
        if (attempt === 5 || !String(error).includes("bind")) {
          throw error;
        }
      }
    }
  }

  async #launch(): Promise<void> {
    const child = spawn(this.#options.binary ?? "redis-server", this.#arguments(), {
      cwd: this.#dir,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    if (child.pid !== undefined) {
      own(child.pid, this.#dir);
    }
    const { pid } = child;
    child.once("exit", () => {
      if (pid !== undefined) {
        disown(pid);
      }
    });
    await accepting(child);
    // Neither the process nor its pipes hold the test process.
    child.unref();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }

  #arguments(): string[] {
    const { password, users, args = [], requireClientCertificate = false } = this.#options;
    const result = ["--save", "", "--appendonly", "no", "--dir", this.#dir, "--bind", "127.0.0.1"];
    const tls = this.certificates;
    if (this.socketPath !== undefined) {
      result.push("--port", "0", "--unixsocket", this.socketPath);
    } else if (tls === undefined) {
      result.push("--port", String(this.#port));
    } else {
      result.push(
        "--port",
        "0",
        "--tls-port",
        String(this.#port),
        "--tls-cert-file",
        tls.serverCertFile,
        "--tls-key-file",
        tls.serverKeyFile,
        "--tls-ca-cert-file",
        tls.caFile,
        "--tls-auth-clients",
        requireClientCertificate ? "yes" : "no",
      );
    }
    if (password !== undefined) {
      result.push("--requirepass", password);
    }
    if (users !== undefined) {
      result.push("--aclfile", join(this.#dir, "users.acl"));
    }
    return [...result, ...args];
  }

  async freeze(): Promise<void> {
    process.kill(this.pid, "SIGSTOP");
    this.#isFrozen = true;
    while (!isStopped(this.pid)) {
      await turn();
    }
  }

  thaw(): void {
    this.#isFrozen = false;
    if (this.#process?.pid !== undefined) {
      process.kill(this.#process.pid, "SIGCONT");
    }
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
      return;
    }
    this.#process = undefined;
    this.#isFrozen = false;
    child.ref();
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.#launch();
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async command(...args: (string | number | Buffer)[]): Promise<Reply> {
    const address: NetConnectOpts =
      this.socketPath === undefined ? { host: "127.0.0.1", port: this.#port } : { path: this.socketPath };
    const login = this.#options.password === undefined ? [] : [["AUTH", this.#options.password]];
    const reply = (await talk(address, [...login, args])).at(-1) as Reply;
    if (reply instanceof Error) {
      throw reply;
    }
    return reply;
  }
}

/** Resolves once the server says that it accepts connections; rejects with its output when it ends before. */
function accepting(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      if (/ready to accept connections/i.test(output)) {
        resolve();
      }
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("error", (cause) => {
      reject(
        new Error("cannot start redis-server: install it (Debian and Ubuntu: apt-get install redis-server)", { cause }),
      );
    });
    child.once("exit", (code) => reject(new Error(`redis-server ended with code ${code}:\n${output}`)));
  });
}

function isStopped(pid: number): boolean {
  try {
    // The state is the first field after the command's name in brackets.
    return /\) T/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // No /proc (macOS): the signal alone has to do.
    return true;
  }
}

/**
 * A port nobody listens on. Taken from below the ephemeral range: a server that restarts must find
 * its port again, not an outgoing connection of somebody else's.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
}

/** Whether nobody listens on `port`. */
export async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  const free = await new Promise<boolean>((resolve) => {
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => resolve(true));
  });
  if (free) {
    await new Promise((resolve) => probe.close(resolve));
  }
  return free;
}
