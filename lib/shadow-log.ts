/** Most bytes of a key in the log. */
const KEY_BYTES = 2 << 10;
/** Most bytes of a value in the log. */
const VALUE_BYTES = 8 << 10;

/** Ends a text that was cut, within its bound. */
const MARK = "...[clipped]";

const encoder = new TextEncoder();

/** A logical key, cut to 2 KiB of UTF-8. */
export function clippedKey(key: string): string {
  return clipped(key, KEY_BYTES);
}

/** A value as JSON, cut to 8 KiB of UTF-8; null when JSON cannot say it. */
export function clippedJson(value: unknown): string | null {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? null : clipped(text, VALUE_BYTES);
  } catch {
    return null;
  }
}

function clipped(text: string, most: number): string {
  // No character has fewer bytes than UTF-16 units.
  if (text.length <= most && Buffer.byteLength(text) <= most) return text;
  // Only whole characters are encoded, so that none is cut.
  const { read } = encoder.encodeInto(text.slice(0, most), new Uint8Array(most - MARK.length));
  return text.slice(0, read) + MARK;
}
