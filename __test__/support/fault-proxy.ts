import { connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";
import { BulkTracker } from "./bulk-tracker";
import { closeServer, listen } from "./fault-server";

/**
 * A proxy between a client and a real server, whose faults the test turns on and off. One fault holds at a time; each
 * lasts until the next one or `heal`.
 */
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
  /** Bytes lost so far, in either direction. */
  readonly lostBytes: number;
  /** Keeps the server's replies back, in order, until `releaseReplies`. */
  holdReplies(): void;
  /** Delivers what was held and lets later replies pass. */
  releaseReplies(): void;
  /** Delivers replies later, in order: each after what `ms` gives for it. */
  delayReplies(ms: () => number): void;
  /** Delivers replies in pieces of `bytes`, one every `everyMs`. */
  trickleReplies(bytes: number, everyMs: number): void;
  /** Of the next reply bytes of each connection, delivers `count`, then ends it, with RST if asked. */
  cutRepliesAfter(count: number, withReset?: boolean): void;
  /** Swallows both directions, connections stay open. */
  blackHole(): void;
  /** Swallows what clients send. Replies that are under way pass: half-open. */
  loseRequests(): void;
  /** Swallows what the server answers, but it does what it is asked: half-open the other way. */
  loseReplies(): void;
  /** Puts `bytes` in the place of every chunk of replies. */
  replaceReplies(bytes: string | Buffer): void;
  /** Puts `bytes` in the place of all replies of a connection from the next one on; never inside a value. */
  garbleReplies(bytes: string | Buffer): void;
  /** Resets open connections (RST). */
  reset(): void;
  /** Resets new connections as well. */
  refuse(): void;
  /**
   * Back to passing everything on; what is held is delivered. A connection of which bytes were lost is reset: no network
   * goes on behind a gap, and replies would answer other commands than their own.
   */
  heal(): void;
  close(): Promise<void>;
}

type Mode =
  | { readonly kind: "pass" }
  | { readonly kind: "hold" }
  | { readonly kind: "delay"; readonly ms: () => number }
  | { readonly kind: "trickle"; readonly bytes: number; readonly everyMs: number }
  | { readonly kind: "cut"; readonly count: number; readonly withReset: boolean }
  | { readonly kind: "lose"; readonly requests: boolean; readonly replies: boolean }
  | { readonly kind: "replace"; readonly bytes: string | Buffer }
  | { readonly kind: "garble"; readonly bytes: string | Buffer }
  | { readonly kind: "refuse" };

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly held: Buffer[];
  readonly tracker: BulkTracker;
  /** Bytes still delivered under a cut. */
  left: number | undefined;
  /** Whether bytes of it were lost, on the way to the server or back. */
  lostRequests: boolean;
  lostReplies: boolean;
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
  lostBytes = 0;

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
      reset(client);
      return;
    }
    const upstream = connect(this.#target);
    const link: Link = {
      client,
      upstream,
      held: [],
      tracker: new BulkTracker(),
      left: undefined,
      lostRequests: false,
      lostReplies: false,
    };
    this.#links.add(link);
    upstream.on("error", () => reset(client));
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    client.on("data", (chunk: Buffer) => {
      this.receivedBytes += chunk.length;
      if (this.#mode.kind === "lose" && this.#mode.requests) link.lostRequests = true;
      // What follows a gap would be another command than the one that was sent.
      if (link.lostRequests) this.lostBytes += chunk.length;
      else upstream.write(chunk);
    });
    upstream.on("data", (chunk: Buffer) => this.#deliver(link, chunk));
    client.once("close", () => {
      this.#links.delete(link);
      link.held.length = 0;
      upstream.destroy();
    });
    upstream.once("close", () => client.destroy());
  }

  #deliver(link: Link, chunk: Buffer): void {
    const mode = this.#mode;
    switch (mode.kind) {
      case "pass":
        pass(link, chunk);
        break;
      case "hold":
        link.held.push(chunk);
        break;
      case "delay":
        link.held.push(chunk);
        // Each timer delivers one chunk, and the oldest: whatever the delays are, the order stays.
        setTimeout(() => this.#mode === mode && this.#release(link), mode.ms()).unref();
        break;
      case "trickle":
        link.held.push(chunk);
        if (link.held.length === 1) this.#trickle(link, mode);
        break;
      case "cut": {
        link.left ??= mode.count;
        const part = chunk.subarray(0, link.left);
        link.left -= part.length;
        if (link.left > 0) pass(link, part);
        else if (mode.withReset) link.client.write(part, () => reset(link.client));
        else link.client.end(part, () => link.client.destroy());
        break;
      }
      case "replace":
        link.lostReplies = true;
        link.client.write(mode.bytes);
        break;
      case "garble":
        garble(link, chunk, mode.bytes);
        break;
      case "lose":
        if (mode.replies) {
          link.lostReplies = true;
          this.lostBytes += chunk.length;
        } else {
          pass(link, chunk);
        }
        break;
      default:
      // Swallowed: the connection is being reset.
    }
  }

  #release(link: Link): void {
    const chunk = link.held.shift();
    if (chunk !== undefined) pass(link, chunk);
  }

  #trickle(link: Link, mode: Extract<Mode, { kind: "trickle" }>): void {
    setTimeout(() => {
      const [first] = link.held;
      if (this.#mode !== mode || first === undefined) return;
      pass(link, first.subarray(0, mode.bytes));
      if (first.length > mode.bytes) link.held[0] = first.subarray(mode.bytes);
      else link.held.shift();
      if (link.held.length > 0) this.#trickle(link, mode);
    }, mode.everyMs).unref();
  }

  holdReplies(): void {
    this.#mode = { kind: "hold" };
  }

  releaseReplies(): void {
    this.heal();
  }

  delayReplies(ms: () => number): void {
    this.#begin({ kind: "delay", ms });
  }

  trickleReplies(bytes: number, everyMs: number): void {
    this.#begin({ kind: "trickle", bytes, everyMs });
  }

  cutRepliesAfter(count: number, withReset = false): void {
    this.#begin({ kind: "cut", count, withReset });
  }

  blackHole(): void {
    this.#begin({ kind: "lose", requests: true, replies: true });
  }

  loseRequests(): void {
    this.#begin({ kind: "lose", requests: true, replies: false });
  }

  loseReplies(): void {
    this.#begin({ kind: "lose", requests: false, replies: true });
  }

  replaceReplies(bytes: string | Buffer): void {
    this.#begin({ kind: "replace", bytes });
  }

  garbleReplies(bytes: string | Buffer): void {
    this.#begin({ kind: "garble", bytes });
  }

  reset(): void {
    for (const { client } of this.#links) {
      reset(client);
    }
  }

  refuse(): void {
    this.#begin({ kind: "refuse" });
    this.reset();
  }

  heal(): void {
    this.#begin({ kind: "pass" });
  }

  #begin(mode: Mode): void {
    this.#mode = mode;
    for (const link of this.#links) {
      if (link.lostRequests || link.lostReplies) {
        reset(link.client);
        continue;
      }
      link.left = undefined;
      for (const chunk of link.held.splice(0)) pass(link, chunk);
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

function pass(link: Link, chunk: Buffer): void {
  // Behind a gap nothing is in its place any more.
  if (link.lostReplies) return;
  link.tracker.feed(chunk);
  link.client.write(chunk);
}

function garble(link: Link, chunk: Buffer, bytes: string | Buffer): void {
  const rest = chunk.subarray(0, link.tracker.left);
  if (rest.length > 0) pass(link, rest);
  if (link.tracker.left > 0 || link.lostReplies) return;
  link.lostReplies = true;
  link.client.write(bytes);
}

/** Ends a connection by RST and nothing else: on its own Node says FIN first. */
function reset(socket: Socket): void {
  socket.destroySoon = socket.destroy;
  socket.resetAndDestroy();
}
