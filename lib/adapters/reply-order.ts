import { randomUUID } from "node:crypto";
import { DialCacheRedisProtocolError } from "../errors";
import { keepFromEndedSocket, nodeClientAt } from "./ended-socket";

/** Sends further commands on the connection that a command goes to. */
export type SendAlong = (args: string[]) => Promise<unknown>;

/** What is needed of a client to hear of its reconnections. */
interface Reconnecting {
  on(event: string, listener: (address?: unknown) => void): unknown;
}

/** In order, out of it, or not told: the question itself came to nothing. */
type Answer = "ordered" | "mixed up" | "unknown";

/** Whether a connection's replies go to the commands they answer. */
class Check {
  answer: Answer = "unknown";
  readonly answered: Promise<void>;

  constructor(send: SendAlong) {
    const nonce = randomUUID();
    this.answered = send(["PING", nonce]).then(
      (reply) => {
        this.answer = String(reply) === nonce ? "ordered" : "mixed up";
      },
      (error: unknown) => {
        // Who may not PING is told so by name, and that is an answer to it, too.
        if (/\bping\b/i.test(String(error))) this.answer = "ordered";
      },
    );
  }
}

/**
 * Keeps replies from commands that they do not answer. Versions 5.x of node-redis write what was queued in the turn in
 * which a connection ends to the ended socket, and go on waiting for its replies on the next connection: each command
 * there is given the reply of one sent before it, which may be another key's value. Where the client has the means, it is
 * kept from that write. Whether or not, a `PING` of our own has to come back as it was sent on each connection, before
 * any reply is believed. One that fails is ended with `QUIT`, for the client forgets then what it waits for.
 */
export class ReplyOrder {
  /** By what stands for a connection; replaced as a whole when any of them was lost. */
  #checks = new WeakMap<object, Check>();

  constructor(client: Reconnecting, isCluster: boolean) {
    // Both are told in the turn in which a connection ends, before another one is opened.
    client.on(isCluster ? "node-reconnecting" : "reconnecting", (address) => {
      this.#checks = new WeakMap();
      keepFromEndedSocket(isCluster ? nodeClientAt(client, address) : client);
    });
  }

  /** Sends a command, and resolves with its reply when it is known to be its own. */
  async send<T>(connection: object, along: SendAlong, send: () => Promise<T>): Promise<T> {
    this.#checkOf(connection, along);
    const reply = await send();
    // It may have been sent on an earlier connection than the one that answered.
    const check = this.#checkOf(connection, along);
    if (check.answer !== "ordered") await check.answered;
    if (check.answer === "ordered") return reply;
    throw new DialCacheRedisProtocolError("the client may have given the reply to another command");
  }

  #checkOf(connection: object, along: SendAlong): Check {
    const known = this.#checks.get(connection);
    if (known !== undefined) return known;
    const checks = this.#checks;
    const check = new Check(along);
    checks.set(connection, check);
    check.answered.then(() => {
      if (check.answer === "ordered") return;
      checks.delete(connection);
      // Where another connection is being opened already, there is nothing to end.
      if (check.answer === "mixed up" && this.#checks === checks) along(["QUIT"]).catch(() => {});
    });
    return check;
  }
}

const orders = new WeakMap<object, ReplyOrder>();

/** The one of a client, however many adapters it has; undefined for what is no event emitter. */
export function replyOrderOf(client: object, isCluster: boolean): ReplyOrder | undefined {
  const known = orders.get(client);
  if (known !== undefined || !("on" in client)) return known;
  const order = new ReplyOrder(client as Reconnecting, isCluster);
  orders.set(client, order);
  return order;
}
