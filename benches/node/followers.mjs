// 10,000 callers at once on one cold key: one source call, and the price of each follower.
import { bentoLocal, cacheableLocal, dedupeLocal, dialcacheLocal, LRUCache, managedLocal } from "./support/caches.mjs";
import { stopwatch } from "./support/cpu.mjs";
import { figure, ratio } from "./support/figures.mjs";
import { isQuick, usual } from "./support/quick.mjs";
import { record } from "./support/values.mjs";
import { scaledMeasure, workload } from "./support/workload.mjs";

const CALLERS = 10_000;
const SOURCE_MS = 5;
/** Keys of one contender in one round. */
const KEYS = 10;
const ROUNDS = usual(9, 5);
const WARM_UPS = 2;
/** What a caller of lru-cache's fetch() takes on the machine on which the budget was set. */
const FETCH_NS = 143;
const VALUE = record(500);

/** The source, and how long its latest call took; the timer that makes it slow is not exact. */
const source = { calls: 0, ms: 0 };

function load() {
  source.calls += 1;
  const began = performance.now();
  return new Promise((resolve) => {
    setTimeout(() => {
      source.ms = performance.now() - began;
      resolve(VALUE);
    }, SOURCE_MS);
  });
}

let lastKey = 0;

/** Sends all callers to a new key; milliseconds beyond the source. */
async function stampede(get) {
  const key = `user:${lastKey++}`;
  const calls = source.calls;
  const promises = new Array(CALLERS);
  const began = performance.now();
  for (let caller = 0; caller < CALLERS; caller++) promises[caller] = get(key);
  await Promise.all(promises);
  const ms = performance.now() - began;
  if (source.calls !== calls + 1) throw new Error(`${source.calls - calls} source calls`);
  return ms - source.ms;
}

await workload("10,000 callers at once on one cold key, 5 ms source", async (report) => {
  const { cache, get } = dialcacheLocal(load);
  const dedupe = dedupeLocal(load);
  const managed = managedLocal();
  const cacheable = cacheableLocal();
  const bento = bentoLocal({ serialize: false });
  const lru = new LRUCache({ max: 10_000, fetchMethod: load });
  const pending = new Map();
  const mapped = (key) => {
    let promise = pending.get(key);
    if (promise === undefined) {
      promise = load().finally(() => pending.delete(key));
      pending.set(key, promise);
    }
    return promise;
  };
  // Making the promises and waiting for them costs by itself: what is measured is what a follower adds.
  const contenders = [
    { name: "dialcache-native", call: get, within: (run) => cache.enable(run) },
    { name: "async-cache-dedupe", call: (key) => dedupe.user(key) },
    { name: "cache-manager", call: (key) => managed.wrap(key, load), keys: 2, extra: true },
    { name: "cacheable", call: (key) => cacheable.getOrSet(key, load), keys: 1, extra: true },
    // One key is half a second of it.
    { name: "bentocache, not serialized", call: (key) => bento.getOrSet({ key, factory: load }), keys: 1, extra: true },
    { name: "lru-cache fetch()", call: (key) => lru.fetch(key) },
    { name: "Map of promises", call: mapped },
  ].filter(({ extra }) => !isQuick || !extra);
  const results = Object.fromEntries(contenders.map(({ name }) => [name, { beyond: [], main: [] }]));
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    for (const { name, call, within = (run) => run(), keys = KEYS } of contenders) {
      await within(async () => {
        globalThis.gc?.();
        const beyond = [];
        const elapsed = stopwatch();
        for (let key = 0; key < keys; key++) beyond.push(await stampede(call));
        const { main } = elapsed();
        if (round < 0) return;
        results[name].beyond.push(figure(beyond).median);
        results[name].main.push(main / keys / CALLERS);
      });
    }
  }
  const names = Object.keys(results);
  report.table(
    "one key",
    ["", "ms beyond the source", "main thread ns/caller", "ours to it"],
    names.map((name) => [
      name,
      figure(results[name].beyond),
      figure(results[name].main),
      ratio(results[names[0]].main, results[name].main),
    ]),
  );
  const [ours] = names;
  report.measure("followers-beyond", figure(results[ours].beyond));
  scaledMeasure(report, "follower", results[ours].main, results["lru-cache fetch()"].main, FETCH_NS);
  report.plot({
    name: "followers",
    kind: "contenders",
    title: "10,000 callers at once on one cold key",
    x: { title: "main thread, ns a caller" },
    points: names.map((name) => ({ name, ...figure(results[name].main) })),
  });
  await cache.close();
  await managed.disconnect();
  await cacheable.disconnect();
  await bento.disconnectAll();
});
