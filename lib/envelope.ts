import { nativeTask } from "./hub";
import { openedBytes, openPayload, type PassedPayload, sealPayload } from "./native";
import type { ResolvedCompression } from "./options";
import { LONGEST_UTF8 } from "./text";

/** First bytes with a meaning in the envelope of binary payloads: an escape, and compressed text or bytes. */
const LAST_MARKER = 2;

/** Whether the bytes may be more than themselves. */
export function isSealed(bytes: Uint8Array): boolean {
  return bytes.length > 0 && (bytes[0] as number) <= LAST_MARKER;
}

/** Whether a payload may have to be compressed or escaped. */
export function needsSealing(payload: string | Uint8Array, compression: ResolvedCompression | undefined): boolean {
  if (typeof payload !== "string" && isSealed(payload)) return true;
  if (compression === undefined) return false;
  const longest = typeof payload === "string" ? payload.length * LONGEST_UTF8 : payload.length;
  return longest >= compression.thresholdBytes;
}

/** Compresses or escapes a payload, off the event loop. */
export function sealEnvelope(
  payload: string | Uint8Array,
  compression: ResolvedCompression | undefined,
): Promise<PassedPayload> {
  return nativeTask(sealPayload(payload as string | Buffer, compression ?? null));
}

/** Bytes up to which payloads are opened side by side. */
const SMALL_BYTES = 1024 * 1024;

/** Settles when the last of the big payloads that were asked for is opened; holds none of them. */
let bigOnes: Promise<void> = Promise.resolve();

/**
 * Takes a payload out of its envelope, off the event loop. What is corrupt or too big is handed on as it is. Big ones have
 * their turns: some kilobytes can become half a gigabyte, and each reply on its way may hold such.
 *
 * @param isWanted - Asked when it is a big one's turn; one that nobody wants any more stays as it is.
 */
export function openEnvelope(bytes: Uint8Array, isWanted: () => boolean): Promise<PassedPayload | undefined> {
  const open = () => nativeTask(openPayload(bytes as Buffer));
  if (openedBytes(bytes as Buffer) <= SMALL_BYTES) return open();
  const opened = bigOnes.then(() => (isWanted() ? open() : undefined));
  bigOnes = opened.then(ignore, ignore);
  return opened;
}

function ignore(): void {}
