import { connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";
import { closeServer, listen } from "./fault-server";

/** A proxy between a client and a real server, whose faults the test turns on and off. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Connections open now. */
  readonly open: number;
  /** Bytes of replies held back now. */
  readonly heldBytes: number;
  /** Bytes received from clients so far. */
  readonly receivedBytes: number;
  /** Keeps the server's replies back, in order, until `releaseReplies`. */
  holdReplies(): void;
  /** Delivers what was held and lets later replies pass. */
  releaseReplies(): void;
  /** Of the next reply bytes, delivers `count`, then ends the connection. */
  cutRepliesAfter(count: number): void;
  /** Swallows both directions, connections stay open, until `heal`. What was swallowed is lost. */
  blackHole(): void;
  /** Puts `bytes` in the place of every chunk of replies until `heal`. */
  replaceReplies(bytes: string | Buffer): void;
  /** Resets open connections (RST). */
  reset(): void;
  /** Resets new connections as well, until `heal`. */
  refuse(): void;
  /** Back to passing everything on; what is held is delivered. */
  heal(): void;
  close(): Promise<void>;
}

type Mode =
  | { readonly kind: "pass" }
  | { readonly kind: "hold" }
  | { readonly kind: "cut"; left: number }
  | { readonly kind: "black hole" }
  | { readonly kind: "replace"; readonly bytes: string | Buffer }
  | { readonly kind: "refuse" };

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly held: Buffer[];
}

/** Starts a proxy to `target` (a port of 127.0.0.1, or a unix socket's path). */
export async function startFaultProxy(target: number | string): Promise<FaultProxy> {
  const proxy = new Relay(typeof target === "number" ? { host: "127.0.0.1", port: target } : { path: target });
  await proxy.listen();
  return proxy;
}

class Relay implements FaultProxy {
  readonly #target: NetConnectOpts;
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #mode: Mode = { kind: "pass" };
  port = 0;
  accepted = 0;
  receivedBytes = 0;

  constructor(target: NetConnectOpts) {
    this.#target = target;
    // Half-open ends are passed on by hand, below.
    this.#server = createServer((client) => this.#accept(client));
  }

  async listen(): Promise<void> {
    this.port = await listen(this.#server);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get open(): number {
    return this.#links.size;
  }

  get heldBytes(): number {
    let bytes = 0;
    for (const { held } of this.#links) {
      for (const chunk of held) {
        bytes += chunk.length;
      }
    }
    return bytes;
  }

  #accept(client: Socket): void {
    this.accepted += 1;
    client.on("error", () => {});
    if (this.#mode.kind === "refuse") {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(this.#target);
    const link: Link = { client, upstream, held: [] };
    this.#links.add(link);
    upstream.on("error", () => client.resetAndDestroy());
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    client.on("data", (chunk: Buffer) => {
      this.receivedBytes += chunk.length;
      if (this.#mode.kind !== "black hole") {
        upstream.write(chunk);
      }
    });
    upstream.on("data", (chunk: Buffer) => this.#deliver(link, chunk));
    client.once("close", () => {
      this.#links.delete(link);
      upstream.destroy();
    });
    upstream.once("close", () => client.destroy());
  }

  #deliver(link: Link, chunk: Buffer): void {
    const mode = this.#mode;
    switch (mode.kind) {
      case "pass":
        link.client.write(chunk);
        break;
      case "hold":
        link.held.push(chunk);
        break;
      case "cut": {
        const part = chunk.subarray(0, mode.left);
        mode.left -= part.length;
        link.client.write(part);
        if (mode.left === 0) {
          link.client.destroySoon();
        }
        break;
      }
      case "replace":
        link.client.write(mode.bytes);
        break;
      default:
      // Swallowed.
    }
  }

  holdReplies(): void {
    this.#mode = { kind: "hold" };
  }

  releaseReplies(): void {
    this.heal();
  }

  cutRepliesAfter(count: number): void {
    this.#mode = { kind: "cut", left: count };
  }

  blackHole(): void {
    this.#mode = { kind: "black hole" };
  }

  replaceReplies(bytes: string | Buffer): void {
    this.#mode = { kind: "replace", bytes };
  }

  reset(): void {
    for (const { client } of this.#links) {
      client.resetAndDestroy();
    }
  }

  refuse(): void {
    this.#mode = { kind: "refuse" };
    this.reset();
  }

  heal(): void {
    this.#mode = { kind: "pass" };
    for (const { client, held } of this.#links) {
      for (const chunk of held.splice(0)) {
        client.write(chunk);
      }
    }
  }

  close(): Promise<void> {
    const sockets = new Set<Socket>();
    for (const { client, upstream } of this.#links) {
      sockets.add(client).add(upstream);
    }
    return closeServer(this.#server, sockets);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
