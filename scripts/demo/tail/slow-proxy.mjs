/** Between a client and redis-server: hands everything through, some of the values later. */
import { connect, createServer } from "node:net";
import { after, instant, until } from "../clock.mjs";
import { seeded } from "../random.mjs";

/** First byte of a bulk string, which the reply to a read is. */
const BULK_STRING = "$".charCodeAt(0);

/** How late each reply is in turn, in milliseconds: 0 for most, the same for the same seed. */
export function lateness({ seed, share, minMs, maxMs }) {
  const random = seeded(seed);
  return () => {
    const late = random() < share;
    const ms = minMs + random() * (maxMs - minMs);
    return late ? ms : 0;
  };
}

export class SlowProxy {
  #server;
  #sockets = new Set();
  #lateMs = () => 0;
  /** Replies to reads since `begin()`, and those that were held back. */
  counts = { replies: 0, late: 0 };

  /** Listens before the redis-server on that port; hands on without delay until `begin()`. */
  static async start(redisPort) {
    const proxy = new SlowProxy();
    proxy.#server = createServer((client) => proxy.#join(client, redisPort));
    await new Promise((resolve, reject) => {
      proxy.#server.once("error", reject);
      proxy.#server.listen(0, "127.0.0.1", resolve);
    });
    return proxy;
  }

  get url() {
    return `redis://127.0.0.1:${this.#server.address().port}`;
  }

  begin(late) {
    this.#lateMs = lateness(late);
    this.counts = { replies: 0, late: 0 };
  }

  end() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client, redisPort) {
    const server = connect({ port: redisPort, host: "127.0.0.1" });
    let ahead = Promise.resolve();
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.once("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => {
      const due = after(instant(), this.#delayOf(bytes));
      ahead = ahead.then(() => until(due)).then(() => client.write(bytes));
    });
  }

  /** What arrives together is one reply: a connection waits for one value at a time. */
  #delayOf(bytes) {
    if (bytes[0] !== BULK_STRING) return 0;
    const ms = this.#lateMs();
    this.counts.replies++;
    if (ms > 0) this.counts.late++;
    return ms;
  }
}
