import { isWellFormed } from "./text";

/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** Turns values into what Redis stores and back. Both methods may be asynchronous. */
export interface Serializer<T> {
  /**
   * Called once per value written. A rejection leaves the value unwritten and the caller unaffected, as do text with an
   * unpaired surrogate and more bytes than Redis keeps under one key: 512 MiB less 11 bytes.
   */
  dump(value: T): Awaitable<string | Buffer>;
  /** Called once per Redis hit. A rejection makes it a miss: the source runs and its value replaces the payload. */
  load(payload: string | Buffer): Awaitable<T>;
}

// Stored bare, so it is not valid JSON: a real string of this text is stored in quotes and stays a string.
const JSON_UNDEFINED = "__dialcache_json_undefined_v1__";

/**
 * The default serializer: JSON, plus a top-level `undefined`. `T` is the caller's word: syntax is checked, not shape.
 * As everywhere in JSON, `NaN` and infinities become `null`.
 */
export class JsonSerializer<T = unknown> implements Serializer<T> {
  /** @throws TypeError for a value JSON has no text for: functions, symbols, bigints, circular structures. */
  dump(value: T): string {
    if (value === undefined) return JSON_UNDEFINED;
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) throw new TypeError(`JsonSerializer cannot serialize a ${typeof value}`);
    return text;
  }

  /** @throws SyntaxError when the payload is not JSON. */
  load(payload: string | Buffer): T {
    const text = typeof payload === "string" ? payload : payload.toString("utf8");
    return (text === JSON_UNDEFINED ? undefined : JSON.parse(text)) as T;
  }
}

/** Stores strings as they are. */
export class StringSerializer implements Serializer<string> {
  /** @throws TypeError for anything but a well-formed string: UTF-8 cannot carry an unpaired surrogate. */
  dump(value: string): string {
    if (typeof value !== "string") throw new TypeError(`StringSerializer takes a string, got ${kindOf(value)}`);
    if (!isWellFormed(value)) throw new TypeError("StringSerializer takes well-formed text, got an unpaired surrogate");
    return value;
  }

  /** @throws TypeError for a binary payload. */
  load(payload: string | Buffer): string {
    if (typeof payload !== "string") throw new TypeError("StringSerializer was given a binary payload");
    return payload;
  }
}

/** What `Buffer.alloc()` returns: fits results typed as any flavour of Buffer, in old and new type definitions of Node. */
export type PlainBuffer = ReturnType<typeof Buffer.alloc>;

/** Stores bytes as they are, without a copy. */
export class BufferSerializer implements Serializer<PlainBuffer> {
  /** @throws TypeError for anything but a Buffer or Uint8Array. */
  dump(value: Uint8Array): PlainBuffer {
    if (!(value instanceof Uint8Array)) throw new TypeError(`BufferSerializer takes a Buffer, got ${kindOf(value)}`);
    return asBuffer(value);
  }

  /** @throws TypeError for a text payload. */
  load(payload: string | Buffer): PlainBuffer {
    if (!((payload as unknown) instanceof Uint8Array)) throw new TypeError("BufferSerializer was given a text payload");
    return asBuffer(payload as Uint8Array);
  }
}

function asBuffer(bytes: Uint8Array): PlainBuffer {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer as PlainBuffer;
}

function kindOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}
