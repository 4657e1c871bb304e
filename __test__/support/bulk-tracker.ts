/** Follows a server's bytes so far as to know whether the next one is inside a bulk string. */
export class BulkTracker {
  #line = "";
  #left = 0;

  /** Bytes until the bulk string that is under way is over, its line end included; 0 outside one. */
  get left(): number {
    return this.#left;
  }

  /** Takes in what came next. */
  feed(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, chunk.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      const end = chunk.indexOf(0x0a, at);
      const upTo = end < 0 ? chunk.length : end + 1;
      this.#line += chunk.toString("latin1", at, upTo);
      at = upTo;
      if (end >= 0) this.#endOfLine();
    }
  }

  #endOfLine(): void {
    const [, length] = /^[$!=](\d+)\r\n$/.exec(this.#line) ?? [];
    this.#line = "";
    if (length !== undefined) this.#left = Number(length) + 2;
  }
}
