import { connect, createServer, type Server, type Socket } from "node:net";
import { closeServer, listen } from "./fault-server";
import { parseReply } from "./resp";

/** A command as it went over a connection. */
export interface TappedCommand {
  /** Numbered in the order of their opening. */
  readonly connection: number;
  /** In upper case. */
  readonly name: string;
  /** Everything, the name included. */
  readonly args: readonly Buffer[];
}

/** A proxy to a real server that sees whole commands, and lets a test act just before one goes on. */
export interface CommandTap extends AsyncDisposable {
  readonly port: number;
  /** What was passed on, in order. */
  readonly commands: readonly TappedCommand[];
  /** Runs `act` before the next command of this name is passed on, once. Later bytes of its connection wait for it. */
  before(name: string, act: () => Promise<unknown>): void;
  close(): Promise<void>;
}

/** Starts one to a server's port of 127.0.0.1. */
export async function startCommandTap(port: number): Promise<CommandTap> {
  const tap = new Tap(port);
  await tap.listen();
  return tap;
}

class Tap implements CommandTap {
  readonly commands: TappedCommand[] = [];
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #hooks = new Map<string, () => Promise<unknown>>();
  #connections = 0;
  port = 0;

  constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  async listen(): Promise<void> {
    this.port = await listen(this.#server);
  }

  before(name: string, act: () => Promise<unknown>): void {
    this.#hooks.set(name, act);
  }

  #accept(client: Socket): void {
    const connection = this.#connections;
    this.#connections += 1;
    const upstream = connect({ host: "127.0.0.1", port: this.#target });
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
    }
    upstream.on("data", (chunk: Buffer) => client.write(chunk));
    client.once("close", () => upstream.destroy());
    upstream.once("close", () => client.destroy());

    let unread: Buffer = Buffer.alloc(0);
    let passing = Promise.resolve();
    client.on("data", (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      for (let parsed = parseReply(unread); parsed !== undefined; parsed = parseReply(unread)) {
        const bytes = unread.subarray(0, parsed.end);
        const args = parsed.reply as Buffer[];
        unread = unread.subarray(parsed.end);
        passing = passing.then(() => this.#pass({ connection, name: nameOf(args), args }, bytes, upstream));
      }
    });
  }

  async #pass(command: TappedCommand, bytes: Buffer, upstream: Socket): Promise<void> {
    const act = this.#hooks.get(command.name);
    this.#hooks.delete(command.name);
    await act?.();
    this.commands.push(command);
    upstream.write(bytes);
  }

  close(): Promise<void> {
    return closeServer(this.#server, this.#sockets);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function nameOf(args: readonly Buffer[]): string {
  return String(args[0]).toUpperCase();
}
