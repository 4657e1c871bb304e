/**
 * One of the origins, a process of its own: `origin-server.mjs <seed> <slow share> <fail share>`. `GET /<side>/users/<id>?call=<number>` is
 * answered after 30 to 80 ms, or late, or with a 503: which of them is the call's number's alone to say, so both sides meet the same.
 */
import { createServer } from "node:http";
import { instant, millisBetween } from "../clock.mjs";
import { fates } from "./fates.mjs";

const PATH = /^\/(\w+)\/users\/(\w+)\?call=(\d+)$/;

const [seed, slowShare, failShare] = process.argv.slice(2).map(Number);
const fate = fates({ seed, slowShare, failShare });
const requests = [];

const server = createServer((request, response) => {
  const [, side, id, call] = PATH.exec(request.url) ?? [];
  if (call === undefined) return response.writeHead(404).end();
  const cameAt = instant();
  const { status, ms } = fate(Number(call));
  const record = { side, cameAt, status, ms: null, aborted: false };
  requests.push(record);
  const timer = setTimeout(() => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(status === 200 ? { id, name: `User ${id}` } : { error: "unavailable" }));
  }, ms);
  response.once("close", () => {
    clearTimeout(timer);
    record.ms = millisBetween(cameAt, instant());
    record.aborted = !response.writableFinished;
  });
});
// A keep-alive connection that the server closes just as a caller reuses it would show up as an error of the origin.
server.keepAliveTimeout = 300_000;

process.on("message", (message) => {
  if (message.type !== "report") return;
  const from = BigInt(message.from);
  const log = requests.map(({ cameAt, ...rest }) => ({ ...rest, atMs: millisBetween(from, cameAt) }));
  process.send({ type: "report", requests: log });
});
process.on("disconnect", () => process.exit(0));
process.on("SIGINT", () => {});

server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  process.send({ type: "listening", url: `http://127.0.0.1:${server.address().port}` });
});
