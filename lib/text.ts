/**
 * Whether every surrogate of `text` is paired. Ill-formed text has no UTF-8 form: it would reach Redis as U+FFFD, and
 * two different broken strings would become one key.
 */
export function isWellFormed(text: string): boolean {
  // Node 20 has the method; the compiler's es2022 library does not declare it.
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}
