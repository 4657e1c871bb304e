/**
 * An origin over HTTP, a process of its own: answers after some milliseconds, unless it was told to be delayed or to fail. Counts what it got,
 * what it answered, and whose connection was closed before the answer had ended.
 */
import { createServer } from "node:http";
import { seeded } from "../../../scripts/demo/random.mjs";

const MEAN_MS = 3;
/** How much later a delayed answer is. */
const DELAY_MS = 1_000;

const random = seeded(Number(process.argv[2] ?? 1));
const figures = { requests: 0, answered: 0, aborted: 0 };
let trouble = "none";

const server = createServer((_request, response) => {
  figures.requests += 1;
  response.once("close", () => {
    clearTimeout(timer);
    if (response.writableFinished) figures.answered += 1;
    else figures.aborted += 1;
  });
  const failing = trouble === "failing";
  const latency = 1 - MEAN_MS * Math.log(1 - random()) + (trouble === "delayed" ? DELAY_MS : 0);
  const timer = setTimeout(
    () => {
      response.writeHead(failing ? 503 : 200, { "content-type": "text/plain" });
      response.end(failing ? "unavailable" : "a user");
    },
    failing ? 1 : latency,
  );
});
// A keep-alive connection that the server closes just as a caller reuses it would show up as an error of the origin.
server.keepAliveTimeout = 300_000;

process.on("message", (message) => {
  if (message.type === "trouble") trouble = message.kind;
  if (message.type === "figures") process.send({ type: "figures", ...figures });
});
process.on("disconnect", () => process.exit(0));
process.on("SIGINT", () => {});

server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  process.send({ type: "listening", url: `http://127.0.0.1:${server.address().port}`, pid: process.pid });
});
