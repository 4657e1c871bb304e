/**
 * The untracked value frame of the wire format, written a second time and independently of the
 * package: byte 0 version, bytes 1-8 big-endian milliseconds, byte 9 encoding, then the payload.
 */
export interface TestFrame {
  readonly version: number;
  readonly createdAtMs: number;
  readonly payload: string | Buffer;
}

const HEADER_BYTES = 10;
const VERSION = 1;
const UTF8 = 0;
const BINARY = 1;

/** Frames a payload stamped with `createdAtMs`. */
export function encodeFrame(payload: string | Buffer, createdAtMs: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = VERSION;
  header.writeBigUInt64BE(BigInt(createdAtMs), 1);
  header[9] = typeof payload === "string" ? UTF8 : BINARY;
  return Buffer.concat([header, typeof payload === "string" ? Buffer.from(payload) : payload]);
}

/** The frame's parts; null for one that is short or of another version; throws for an unknown encoding. */
export function decodeFrame(bytes: Buffer): TestFrame | null {
  if (bytes.length < HEADER_BYTES || bytes[0] !== VERSION) {
    return null;
  }
  const encoding = bytes[9];
  if (encoding !== UTF8 && encoding !== BINARY) {
    throw new Error(`unknown frame encoding ${encoding}`);
  }
  const body = Buffer.from(bytes.subarray(HEADER_BYTES));
  return {
    version: VERSION,
    createdAtMs: Number(bytes.readBigUInt64BE(1)),
    payload: encoding === UTF8 ? body.toString("utf8") : body,
  };
}
