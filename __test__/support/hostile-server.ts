import type { Socket } from "node:net";
import { type FaultServer, startFaultServer } from "./fault-server";

/** What a server sends on one connection after its greeting: once, or again and again until the client hangs up. */
export interface Attack {
  readonly first?: string | Buffer;
  readonly forever?: string | Buffer;
  /** Milliseconds between two pieces of what is sent forever. Default: as fast as they are taken. */
  readonly everyMs?: number;
}

/** A server that answers `PING`, and after it each read, or none and sends its attack forever. */
export function startHostileServer(attack: Attack): Promise<FaultServer> {
  return startFaultServer((socket) => {
    let isGreeted = false;
    let isAttacking = false;
    socket.on("data", (chunk: Buffer) => {
      if (!isGreeted && /PING/.test(chunk.toString("latin1"))) {
        isGreeted = true;
        socket.write("+PONG\r\n");
        return;
      }
      const { first, forever, everyMs } = attack;
      if (forever === undefined) {
        for (let reads = countReads(chunk); reads > 0; reads -= 1) socket.write(first ?? "");
        return;
      }
      if (isAttacking) return;
      isAttacking = true;
      if (first !== undefined) socket.write(first);
      flood(socket, Buffer.from(forever), everyMs);
    });
  });
}

function countReads(chunk: Buffer): number {
  return chunk.toString("latin1").split("\r\n$3\r\nGET\r\n").length - 1;
}

const PIECE_BYTES = 64 * 1024;

function flood(socket: Socket, bytes: Buffer, everyMs: number | undefined): void {
  if (everyMs !== undefined) {
    const timer = setInterval(() => socket.write(bytes), everyMs);
    socket.once("close", () => clearInterval(timer));
    return;
  }
  const piece = Buffer.alloc(Math.ceil(PIECE_BYTES / bytes.length) * bytes.length, bytes);
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", more);
  more();
}

/** A zstd frame of zeros: one byte for 128 KiB of them. */
export function zstdBomb(options: {
  /** How much it says to hold. Default: it does not say. */
  readonly statedBytes?: number;
  readonly actualBytes: number;
}): Buffer {
  const blockBytes = 128 * 1024;
  const { statedBytes, actualBytes } = options;
  const header = Buffer.from("28b52ffd", "hex");
  let description: Buffer;
  if (statedBytes === undefined) {
    // A window of 128 KiB.
    description = Buffer.from([0x00, 0x38]);
  } else {
    description = Buffer.alloc(9);
    description[0] = 0xe0;
    description.writeBigUInt64LE(BigInt(statedBytes), 1);
  }
  const count = Math.max(1, Math.ceil(actualBytes / blockBytes));
  const blocks = Buffer.alloc(count * 4);
  for (let block = 0; block < count; block += 1) {
    const isLast = block === count - 1;
    const bytes = isLast ? actualBytes - block * blockBytes : blockBytes;
    // Run-length encoded: three bytes of header, one of content.
    blocks.writeUIntLE((bytes << 3) | 0b10 | (isLast ? 1 : 0), block * 4, 3);
  }
  return Buffer.concat([header, description, blocks]);
}
