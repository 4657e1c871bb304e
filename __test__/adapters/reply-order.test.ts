import { EventEmitter } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { ReplyOrder } from "../../lib/adapters/reply-order";
import { ADAPTERS, payloadOf } from "../support/adapters";
import { startFaultProxy } from "../support/fault-proxy";
import { turn, turns, until } from "../support/real-time";
import { startRedis } from "../support/redis-server";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const RESETS = 12;
const READS_A_TURN = 4;
const KEYS = 200;

describe("Connections that are reset while reads are being queued, in whichever turn", () => {
  it.each(ADAPTERS.map((kind) => [kind.name, kind] as const))(
    "%s: each read gets its own key's value or none",
    async (_name, kind) => {
      const server = await startRedis();
      const proxy = await startFaultProxy(server.port);
      const { client, close } = await kind.connect({ port: proxy.port, requestTimeoutMs: 500 });
      onTestFinished(async () => {
        close();
        await proxy.close();
        await server.stop();
      });
      const key = (index: number) => `key ${index % KEYS}`;
      for (let index = 0; index < KEYS; index += 1) {
        await client.write({ valueKey: key(index), value: key(index), cacheTtlMs: 600_000 });
      }
      let reads = 0;
      let right = 0;
      const wrong: string[] = [];
      const read = async (index: number): Promise<void> => {
        // A failed read is what a reset is for.
        const hit = await Promise.resolve(client.read({ valueKey: key(index) })).catch(() => null);
        if (hit === null) return;
        if (String(payloadOf(hit)) === key(index)) right += 1;
        else wrong.push(`${String(payloadOf(hit))} for ${key(index)}`);
      };
      for (let reset = 0; reset < RESETS; reset += 1) {
        const before = right;
        await until("values are read again", async () => {
          for (let more = 0; more < READS_A_TURN; more += 1) void read(reads++);
          await turn();
          return right >= before + READS_A_TURN;
        });
        proxy.reset();
      }
      expect(wrong).toEqual([]);
    },
  );
});

describe("The order of a client's replies", () => {
  /** A client whose replies the test gives. */
  function scripted() {
    const client = new EventEmitter();
    const sent: string[][] = [];
    const settlers: { resolve(reply: unknown): void; reject(error: unknown): void }[] = [];
    const dispatch = (args: string[]) => {
      sent.push(args);
      return new Promise<unknown>((resolve, reject) => settlers.push({ resolve, reject }));
    };
    const order = new ReplyOrder(client, false);
    const connection = {};
    const get = (key: string) => order.send(connection, dispatch, () => dispatch(["GET", key]));
    const nonce = (index: number) => sent[index]?.[1];
    return { client, sent, settlers, get, nonce };
  }

  it("is asked once a connection, and its replies wait for the answer", async () => {
    const { client, sent, settlers, get, nonce } = scripted();
    const first = get("a");
    const second = get("b");
    expect(sent.map(([name]) => name)).toEqual(["PING", "GET", "GET"]);
    settlers[1]!.resolve("A");
    settlers[0]!.resolve(nonce(0));
    settlers[2]!.resolve("B");
    expect(await Promise.all([first, second])).toEqual(["A", "B"]);
    const third = get("c");
    settlers[3]!.resolve("C");
    expect(await third).toBe("C");
    client.emit("reconnecting");
    void get("d");
    expect(sent.map(([name]) => name)).toEqual(["PING", "GET", "GET", "GET", "PING", "GET"]);
    expect(nonce(4)).not.toBe(nonce(0));
  });

  it("is wrong when the answer is another one: no reply is believed, and the connection is ended", async () => {
    const { sent, settlers, get } = scripted();
    const read = get("a");
    settlers[0]!.resolve("somebody's value");
    settlers[1]!.resolve("somebody else's");
    await expect(read).rejects.toMatchObject({ code: "DIALCACHE_REDIS_PROTOCOL" });
    expect(sent.map(([name]) => name)).toEqual(["PING", "GET", "QUIT"]);
    settlers[2]!.reject(new Error("the connection ended"));
  });

  it("is asked of the connection that answered, not of the one that was written to", async () => {
    const { client, sent, settlers, get, nonce } = scripted();
    const read = get("a");
    settlers[0]!.resolve(nonce(0));
    await turns(1);
    client.emit("reconnecting");
    settlers[1]!.resolve("somebody's value");
    await turns(1);
    expect(sent.map(([name]) => name)).toEqual(["PING", "GET", "PING"]);
    settlers[2]!.resolve("A");
    await expect(read).rejects.toMatchObject({ code: "DIALCACHE_REDIS_PROTOCOL" });
  });

  it("stays unknown when the question is lost, and is asked again", async () => {
    const { sent, settlers, get, nonce } = scripted();
    const lost = get("a");
    settlers[0]!.reject(new Error("the command took too long"));
    await turns(1);
    settlers[1]!.resolve("A");
    await turns(1);
    settlers[2]!.reject(new Error("the command took too long"));
    await expect(lost).rejects.toMatchObject({ code: "DIALCACHE_REDIS_PROTOCOL" });
    const read = get("b");
    expect(sent.map(([name]) => name)).toEqual(["PING", "GET", "PING", "PING", "GET"]);
    settlers[3]!.resolve(nonce(3));
    settlers[4]!.resolve("B");
    expect(await read).toBe("B");
  });

  it("is answered by a server that forbids the question", async () => {
    const { settlers, get } = scripted();
    const read = get("a");
    settlers[0]!.reject(new Error("NOPERM User app has no permissions to run the 'ping' command"));
    settlers[1]!.resolve("A");
    expect(await read).toBe("A");
  });
});
