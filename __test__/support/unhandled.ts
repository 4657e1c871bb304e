import { afterEach, beforeEach, expect } from "vitest";
import { turns } from "./real-time";

/**
 * Fails each test of the calling file in which a rejection or an exception went unhandled: call it
 * once at the top of a file. A rejection counts as unhandled after the turn it happened in, so each
 * test gets a few more turns of the event loop before it is judged.
 */
export function failOnUnhandled(): void {
  const caught: unknown[] = [];
  const note = (reason: unknown) => {
    caught.push(reason);
  };
  beforeEach(() => {
    caught.length = 0;
    process.on("unhandledRejection", note);
    process.on("uncaughtException", note);
  });
  afterEach(async () => {
    await turns(5);
    process.off("unhandledRejection", note);
    process.off("uncaughtException", note);
    expect(caught, "unhandled rejections and exceptions").toEqual([]);
  });
}
