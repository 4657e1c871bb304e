import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** A TCP server in this process that misbehaves in one way. */
export interface FaultServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Everything received so far, over all connections. */
  readonly received: Buffer;
  close(): Promise<void>;
}

/** Starts a server that hands each new connection to `behave`. */
export async function startFaultServer(behave: (socket: Socket) => void): Promise<FaultServer> {
  const sockets = new Set<Socket>();
  const received: Buffer[] = [];
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    behave(socket);
  });
  const port = await listen(server);
  const close = () => closeServer(server, sockets);
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get accepted() {
      return accepted;
    },
    get received() {
      return Buffer.concat(received);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Answers whatever comes as a web server would: Redis behind the wrong port. */
export function startHttpServer(): Promise<FaultServer> {
  const page = "<h1>400 Bad Request</h1>";
  return startFaultServer((socket) => {
    socket.once("data", () => {
      socket.end(
        `HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: ${page.length}\r\n\r\n${page}`,
      );
    });
  });
}

/** Accepts connections and never says a word. */
export function startBlackHole(): Promise<FaultServer> {
  return startFaultServer(() => {});
}

/** Answers everything with `bytes`. */
export function startWrongBytes(bytes: string | Buffer): Promise<FaultServer> {
  return startFaultServer((socket) => {
    socket.on("data", () => socket.write(bytes));
  });
}

/** Accepts each connection and resets it at once. */
export function startResetter(): Promise<FaultServer> {
  return startFaultServer((socket) => socket.resetAndDestroy());
}

/** Listens on a free port of 127.0.0.1, without holding the process, and resolves with it. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A fault server left over by a failing test does not hold the process.
  server.unref();
  return (server.address() as AddressInfo).port;
}

/** Ends a server and the given connections. Idempotent. */
export async function closeServer(server: Server, sockets: Iterable<Socket>): Promise<void> {
  if (!server.listening) {
    return;
  }
  const closed = once(server, "close");
  server.close();
  for (const socket of sockets) {
    socket.destroy();
  }
  await closed;
}
