/**
 * The slow source of truth, a process of its own: `GET /users/<id>` answers a user after 30 to 80 ms. It records for every request when it
 * came and how long it really took here, so that the source's own latency is known independently of what a caller measured.
 */
import { createServer } from "node:http";
import { instant, millisBetween } from "./clock.mjs";
import { seeded } from "./random.mjs";

const MIN_LATENCY_MS = 30;
const MAX_LATENCY_MS = 80;
const CITIES = ["Lisbon", "Oslo", "Nairobi", "Montréal", "Kyoto", "Quito"];

let random = seeded(1);
let requests = [];

const server = createServer((request, response) => {
  const cameAt = instant();
  const id = decodeURIComponent(request.url.slice("/users/".length));
  const record = [cameAt, undefined];
  requests.push(record);
  response.once("close", () => {
    record[1] = millisBetween(cameAt, instant());
  });
  setTimeout(
    () => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(user(id)));
    },
    MIN_LATENCY_MS + random() * (MAX_LATENCY_MS - MIN_LATENCY_MS),
  );
});
// A keep-alive connection that the server closes just as a caller reuses it would show up as an error of the source.
server.keepAliveTimeout = 300_000;

function user(id) {
  return {
    id,
    name: `User ${id}`,
    email: `${id}@example.com`,
    address: { street: `${id.length * 7} Harbour Street`, city: CITIES[id.length % CITIES.length] },
    roles: ["reader", "author"],
    bio: "A person of regular habits who is looked up rather more often than one would expect. ".repeat(3),
  };
}

process.on("message", (message) => {
  if (message.type === "reset") {
    random = seeded(message.seed);
    requests = [];
    process.send({ type: "reset" });
  } else if (message.type === "report") {
    const from = BigInt(message.from);
    const log = requests.map(([cameAt, ms]) => ({ atMs: millisBetween(from, cameAt), ms: ms ?? null }));
    process.send({ type: "report", requests: log });
  }
});
process.on("disconnect", () => process.exit(0));
// Ctrl-C in a terminal reaches every process of the group; the end of this one is for its parent to decide.
process.on("SIGINT", () => {});

server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  process.send({ type: "listening", url: `http://127.0.0.1:${server.address().port}` });
});
