/**
 * Whether every surrogate of `text` is paired. Ill-formed text has no UTF-8 form: it would reach Redis as U+FFFD, and
 * two different broken strings would become one key.
 */
export function isWellFormed(text: string): boolean {
  // Node 20 has the method; the compiler's es2022 library does not declare it.
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

/** `text` as the native side gets it: U+FFFD in place of every unpaired surrogate. */
export function wellFormed(text: string): string {
  return (text as string & { toWellFormed(): string }).toWellFormed();
}

/** The most bytes that a UTF-16 unit takes in UTF-8. */
export const LONGEST_UTF8 = 3;

/** Whether `text` takes more than `bytes` bytes in UTF-8. Counts only what may. */
export function utf8Exceeds(text: string, bytes: number): boolean {
  return text.length > bytes || (text.length * LONGEST_UTF8 > bytes && Buffer.byteLength(text) > bytes);
}
