import { connect, type NetConnectOpts, type Socket } from "node:net";

/** A reply as the tests look at it: bulk strings stay Buffers, a server's error is an Error. */
export type Reply = string | number | Buffer | null | Error | Reply[];

/** One command in the form every Redis version accepts. */
export function encodeCommand(args: readonly (string | number | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${args.length}\r\n`)];
  for (const arg of args) {
    const bytes = Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg));
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n"));
  }
  return Buffer.concat(parts);
}

/** Parses the RESP2 reply at `offset`; undefined when its bytes are not complete yet. */
export function parseReply(bytes: Buffer, offset = 0): { reply: Reply; end: number } | undefined {
  const eol = bytes.indexOf("\r\n", offset);
  if (eol < 0) {
    return undefined;
  }
  const line = bytes.toString("utf8", offset + 1, eol);
  const next = eol + 2;
  switch (bytes[offset]) {
    case 0x2b: // +
      return { reply: line, end: next };
    case 0x2d: // -
      return { reply: new Error(line), end: next };
    case 0x3a: // :
      return { reply: Number(line), end: next };
    case 0x24: // $
      return parseBulk(bytes, next, Number(line));
    case 0x2a: // *
      return parseArray(bytes, next, Number(line));
    default:
      throw new Error(`not a RESP2 reply: ${bytes.toString("latin1", offset, eol)}`);
  }
}

function parseBulk(bytes: Buffer, start: number, length: number): { reply: Reply; end: number } | undefined {
  if (length < 0) {
    return { reply: null, end: start };
  }
  const end = start + length + 2;
  return bytes.length < end ? undefined : { reply: Buffer.from(bytes.subarray(start, end - 2)), end };
}

function parseArray(bytes: Buffer, start: number, length: number): { reply: Reply; end: number } | undefined {
  if (length < 0) {
    return { reply: null, end: start };
  }
  const items: Reply[] = [];
  let end = start;
  for (let item = 0; item < length; item += 1) {
    const parsed = parseReply(bytes, end);
    if (parsed === undefined) {
      return undefined;
    }
    items.push(parsed.reply);
    end = parsed.end;
  }
  return { reply: items, end };
}

/** Sends `commands` over one fresh plain connection and resolves with their replies, in order. */
export function talk(
  address: NetConnectOpts,
  commands: readonly (readonly (string | number | Buffer)[])[],
): Promise<Reply[]> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(address);
    const replies: Reply[] = [];
    let pending: Buffer = Buffer.alloc(0);
    const finish = (act: () => void) => {
      socket.destroy();
      act();
    };
    socket.once("error", (error) => finish(() => reject(error)));
    socket.once("close", () => reject(new Error("connection closed before every reply came")));
    socket.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      for (let parsed = parseReply(pending); parsed !== undefined; parsed = parseReply(pending)) {
        replies.push(parsed.reply);
        pending = pending.subarray(parsed.end);
      }
      if (replies.length >= commands.length) {
        finish(() => resolve(replies));
      }
    });
    socket.write(Buffer.concat(commands.map(encodeCommand)));
  });
}
