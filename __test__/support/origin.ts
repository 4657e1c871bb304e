import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A request that an origin got. */
export interface Got {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** An HTTP server on a port of its own. */
export interface Origin {
  readonly url: string;
  readonly port: number;
  /** Requests, in the order they came. */
  readonly got: Got[];
  /** Answers whose connection was closed by the caller before they had ended. */
  aborted: number;
  /** Requests that wait for an answer. */
  readonly waiting: ServerResponse[];
  close(): Promise<void>;
}

/** Answers a request; one that does nothing leaves it waiting. */
export type Answer = (response: ServerResponse, got: Got) => void;

/** Starts an origin, until the test is over. */
export async function startOrigin(answer: Answer): Promise<Origin> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    origin.waiting.push(response);
    response.once("close", () => {
      origin.waiting.splice(origin.waiting.indexOf(response), 1);
      if (!response.writableFinished) origin.aborted += 1;
    });
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => {
      const { method = "", url = "", headers } = request;
      const got = { method, url, headers, body: Buffer.concat(chunks).toString() };
      origin.got.push(got);
      answer(response, got);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin: Origin = {
    url: `http://127.0.0.1:${port}`,
    port,
    got: [],
    aborted: 0,
    waiting: [],
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  onTestFinished(() => origin.close());
  return origin;
}

/** Answers with a status and a text. */
export const answering =
  (status: number, text = "", headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, headers);
    response.end(text);
  };

/** Never answers. */
export const silent: Answer = () => {};

/** Sends headers, and of the body only a beginning. */
export const stalling: Answer = (response) => {
  response.writeHead(200);
  response.write("beginning");
};
