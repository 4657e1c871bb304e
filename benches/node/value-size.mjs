// Hits in Redis by the size of the value: what parsing costs, and what is left where a payload is handed through untouched.
import { BufferSerializer, StringSerializer } from "../../index.mjs";
import { dialcacheRedis } from "./support/caches.mjs";
import { compare } from "./support/compare.mjs";
import { exponent, figure, ratio } from "./support/figures.mjs";
import { filled, PLAIN } from "./support/filled.mjs";
import { inFlight } from "./support/in-flight.mjs";
import { startRedis } from "./support/redis.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, workload } from "./support/workload.mjs";

const OTHERS = ["async-cache-dedupe", "bentocache", "ioredis, auto-pipelining"];
/** What is in flight stays within 16 MB. Growth is judged from where bytes count more than calls. */
const SIZES = [
  { name: "100 B", bytes: 100, width: 128, keys: 512 },
  { name: "1 KB", bytes: 1 << 10, width: 128, keys: 512 },
  { name: "16 KB", bytes: 16 << 10, width: 128, keys: 512, judged: true },
  { name: "256 KB", bytes: 256 << 10, width: 32, keys: 64, judged: true },
  { name: "1 MB", bytes: 1 << 20, width: 16, keys: 32, judged: true },
];
const OURS = "dialcache-native, JSON";

/** Caches whose payload reaches the caller as it is. */
async function untouched(server, ids, bytes) {
  const text = JSON.stringify(record(bytes));
  const kinds = {
    text: { value: text, serializer: new StringSerializer() },
    Buffer: { value: Buffer.from(text), serializer: new BufferSerializer() },
  };
  const made = [];
  for (const [kind, { value, serializer }] of Object.entries(kinds)) {
    const { cache, get, close } = await dialcacheRedis(async () => value, {
      url: server.url,
      serializer,
      compression: false,
      namespace: kind,
    });
    const read = (id) => get(id);
    for (const id of ids) await cache.enable(() => read(id));
    await cache.drain();
    if ((await cache.enable(() => read(ids[0]))).length !== value.length) throw new Error(`${kind} has another length`);
    made.push({ name: `dialcache-native, ${kind}`, cache, read, close });
  }
  return made;
}

await workload("Redis hit by the size of the value", async (report) => {
  const found = [];
  for (const { name, bytes, width, keys } of SIZES) {
    // One of its own: the keys are the same for every size.
    const server = await startRedis();
    const plainly = { compression: false };
    const { ids, dialcache, readers, close } = await filled(server, keys, bytes, {
      others: OTHERS,
      dialcache: plainly,
    });
    const raw = await untouched(server, ids, bytes);
    const within = (cache, read) => (ops) => cache.enable(() => inFlight(width, ops, (op) => read(ids[op % keys])));
    const results = await compare(
      [
        { name: OURS, run: within(dialcache.cache, (id) => dialcache.get(id)) },
        ...raw.map(({ name: kind, cache, read }) => ({ name: kind, run: within(cache, read) })),
        ...Object.entries(readers).map(([reader, read]) => ({
          name: reader,
          run: (ops) => inFlight(width, ops, (op) => read(ids[op % keys])),
        })),
      ],
      { rounds: 5, roundMs: 150 },
    );
    comparisonTable(report, `${name} of JSON, not compressed, ${width} in flight`, results, "µs");
    found.push(results);
    if (bytes === 100)
      report.measure("redis-throughput-100B/node-redis-5", ratio(results[PLAIN].wall, results[OURS].wall));
    for (const one of raw) await one.close();
    await close();
    server.end();
  }
  const us = (values) => figure(values.map((ns) => ns / 1_000));
  report.plot({
    name: "value-size",
    kind: "lines",
    title: "Redis hit by the size of the value",
    x: { title: "bytes of JSON" },
    y: { title: "main thread, µs an operation" },
    series: Object.keys(found[0]).map((name) => ({
      name,
      points: SIZES.map(({ bytes }, at) => ({ x: bytes, ...us(found[at][name].main) })),
    })),
  });
  const judged = SIZES.map(({ bytes, judged: counts }, at) => ({ n: bytes, values: found[at][OURS].main, counts }));
  report.measure("scale-bytes", exponent(judged.filter(({ counts }) => counts)));
});
