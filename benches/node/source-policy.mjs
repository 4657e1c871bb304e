// A call through source() in which no policy fires: what failover, hedging, retries, a breaker and a timeout cost when they are not needed.
import { source } from "../../index.mjs";
import { LRUCache } from "./support/caches.mjs";
import { compare } from "./support/compare.mjs";
import { figure } from "./support/figures.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, scaledMeasure, workload } from "./support/workload.mjs";

const KEY = "user:123";
const VALUE = record(500);
const bare = async () => VALUE;

const repeat = (call) => async (ops) => {
  for (let op = 0; op < ops; op++) await call(KEY);
};

await workload("source policy, nothing firing", async (report) => {
  const plain = source([bare, bare], { name: "nothing", idempotent: true });
  const everything = source([bare, bare], {
    name: "everything",
    idempotent: true,
    timeoutMs: 2_000,
    hedge: {},
    failover: {},
    retry: {},
    breaker: {},
  });
  const lru = new LRUCache({ max: 10_000 });
  lru.set(KEY, VALUE);
  const fromLru = async (key) => lru.get(key);
  const names = [
    "source(), every policy",
    "source(), no policy",
    "the bare function",
    "lru-cache in an async function",
  ];
  const calls = [everything, plain, bare, fromLru];
  const results = await compare(names.map((name, at) => ({ name, run: repeat(calls[at]) })));
  comparisonTable(report, "a call of a source", results, "ns", "source-policy");
  const [ours, none, floor, yardstick] = names.map((name) => results[name].main);
  const over = (values) => values.map((ns, round) => ns - floor[round]);
  report.table(
    "over the bare function: main thread, ns a call",
    ["", "ns"],
    [
      ["every policy", figure(over(ours))],
      ["no policy", figure(over(none))],
    ],
  );
  scaledMeasure(report, "source-policy", over(ours), yardstick);
});
