/**
 * Every budget there is, in the order in which they are shown.
 *
 * A workload measures an id; what it should be stands here alone. `scaled` tells the yardstick that ran beside it: a budget in nanoseconds was set
 * on one machine, and what is measured elsewhere is scaled to that one. `needs` names what cannot be installed here; then `instead` is the id of a
 * ratio, without a limit, to what comes next to it. `smoke` marks those that a change is checked against; of those by the wall clock, which
 * other processes lengthen, only `collapse` or more is one.
 */

const LRU = "lru-cache in an async function takes 57 ns";
const DIALCACHE = "DialCache for TypeScript";

const most = (id, what, limit, unit, more = {}) => ({ id, what, limit, unit, atLeast: false, ...more });
const least = (id, what, limit, unit, more = {}) => ({ ...most(id, what, limit, unit, more), atLeast: true });
const elsewhere = (what, limit, instead, { atLeast = false } = {}) => ({
  id: undefined,
  what,
  limit,
  unit: "x",
  atLeast,
  needs: DIALCACHE,
  instead,
});

const smoke = { smoke: true };
/** Is shown, and never a collapse. */
const shown = { smoke: true, collapse: Number.POSITIVE_INFINITY };

export const BUDGETS = [
  most("local-hot", "local hit, hot key", 250, "ns", { scaled: LRU, smoke: true }),
  most("local-hot/async-cache-dedupe", "local hit, hot key, to async-cache-dedupe", 0.75, "x", smoke),
  elsewhere("local hit, hot key, to DialCache", 0.2, "local-hot/lru-cache"),
  most("local-zipf/async-cache-dedupe", "local hit, Zipf, key built per call, to async-cache-dedupe", 0.5, "x", smoke),
  elsewhere("local hit, Zipf, to DialCache", 0.2, "local-zipf/lru-cache"),
  most("request-local", "request-local hit", 200, "ns", { scaled: LRU, smoke: true }),
  elsewhere("request-local hit, to DialCache", 0.2, "request-local/lru-cache"),
  most("outside", "call outside enable(), to the async function itself", 1.5, "x", smoke),
  most("follower", "follower", 150, "ns", { scaled: "lru-cache fetch() takes 143 ns", smoke: true }),
  most("followers-beyond", "10,000 callers on one key, beyond the source", 1.5, "ms", shown),
  most("redis-hit-16/node-redis-5", "Redis hit, 16 in flight, main-thread CPU to node-redis 5", 1.05, "x", smoke),
  most("redis-hit-128/node-redis-5", "Redis hit, 128 in flight, main-thread CPU to node-redis 5", 1.05, "x", smoke),
  most("redis-hit-16/bentocache", "Redis hit, 16 in flight, main-thread CPU to bentocache", 0.65, "x", smoke),
  most("redis-hit-128/bentocache", "Redis hit, 128 in flight, main-thread CPU to bentocache", 0.65, "x", smoke),
  elsewhere("Redis hit, main-thread CPU to DialCache", 0.42, "redis-hit-128/node-redis-5"),
  least("redis-throughput/bentocache", "Redis hit, 128 in flight, throughput to bentocache", 2, "x", shown),
  elsewhere("Redis hit, 128 in flight, throughput to DialCache", 3, "redis-throughput/node-redis-5", { atLeast: true }),
  elsewhere("Redis hit of 100 B, throughput to DialCache", 3.5, "redis-throughput-100B/node-redis-5", {
    atLeast: true,
  }),
  most("loop-delay-1KB", "event-loop delay p99, 512 reads in flight, 1 KB", 5, "ms"),
  most("loop-delay-256KB", "event-loop delay p99, 512 reads in flight, 256 KB", 20, "ms"),
  most("garbage", "garbage per local hit", 400, "B", smoke),
  most("redis-latency/node-redis-5", "Redis hit, one at a time, p50 to node-redis 5", 1.5, "x", shown),
  elsewhere("miss, source, write back, main-thread CPU to DialCache", 0.45, "miss/node-redis-5"),
  most("zstd-on-loop", "64 KB JSON values, compressed: zstd runs on the event loop's thread", 0, "", smoke),
  most("deadline-latest", "read deadline: arm and disarm, the latest of 128", 150, "ns"),
  most("deadline-earliest", "read deadline: arm and disarm, the earliest of 128", 150, "ns"),
  most("deadlines-armed", "read deadlines armed by followers, local hits and ramped-out calls", 0, "", smoke),
  most("frozen-late", "Redis frozen: the source starts late by, p99", 3, "ms", shown),
  // JavaScript timers would make it all of them.
  most("false-timeouts", "event loop blocked: false timeouts of 1,000", 0, "", { smoke: true, collapse: 500 }),
  most("counter", "counters: one event", 15, "ns"),
  most("source-policy", "source policy, nothing firing, over the bare function", 2_000, "ns", {
    scaled: LRU,
    smoke: true,
  }),
  most("hedge-optimum", "hedging, virtual time: worst ratio to the optimum", 1.05, "x"),
  most("hedge-budget", "hedging, virtual time: largest share of calls hedged, to the budget", 1, "x"),
  most("hedge-step", "hedging, virtual time: calls hedged in the worst second after latency tripled", 11, "%"),
  // Two readings of one budget: with the settled promise and the slot that hold the value, and without.
  most("entry-bytes", "1,000,000 local entries: all memory beyond the values", 420, "B an entry"),
  most("entry-index-bytes", "1,000,000 local entries: the native index alone", 420, "B an entry"),
  most("churn-entries", "index under churn: most entries, to its cap", 1, "x"),
  most("growth", "memory grown over the last 8 of 10 million operations", 1, "B an operation"),
  most("scale-flights", "cost of n concurrent flights grows with n to the power of", 1.1, ""),
  most("scale-bytes", "cost of a Redis hit of n bytes grows with n to the power of", 1.1, ""),
  most("scale-use-cases", "cost of a local hit among n use cases grows with n to the power of", 0.1, ""),
  most("scale-workers", "CPU of a Redis hit in n worker threads grows with n to the power of", 0.1, ""),
  most("addon-load", "addon load", 15, "ms", shown),
  most("addon-size", "addon's size", 6, "MB", smoke),
  most("threads-early", "threads of the package before its first Redis client", 0, "", smoke),
  most("scrape", "Prometheus: scrape of 200 use cases, main thread", 5, "ms"),
  most("scraped-hit", "local hit with Prometheus metrics, to one without", 1.1, "x"),
  most("origins-p99", "origins in trouble: p99 with hedging to without", 0.5, "x"),
  most("origins-extra", "origins in trouble: extra requests with hedging", 10, "%"),
  most("origins-open", "origins in trouble: connections left open at an origin", 0, ""),
  most("origins-pending", "origins in trouble: pending after the end", 0, ""),
  most("origins-unhandled", "origins in trouble: unhandled rejections", 0, ""),
];

/** Ratios that have no limit: what a budget that cannot be measured has instead. */
export const FLOORS = {
  "local-hot/lru-cache": "to lru-cache in an async function",
  "local-zipf/lru-cache": "to lru-cache in an async function",
  "request-local/lru-cache": "to lru-cache in an async function",
  "redis-throughput/node-redis-5": "to node-redis 5 GET + JSON.parse",
  "redis-throughput-100B/node-redis-5": "to node-redis 5 GET + JSON.parse",
  "miss/node-redis-5": "to cache-aside over node-redis 5",
  "redis-hit-128/node-redis-5": "to node-redis 5 GET + JSON.parse",
};

const byId = new Map(BUDGETS.filter(({ id }) => id !== undefined).map((budget) => [budget.id, budget]));

export function budgetOf(id) {
  return byId.get(id);
}

/** Whether anything is known under this id: a workload that measures another one has a slip in it. */
export function isKnown(id) {
  return byId.has(id) || Object.hasOwn(FLOORS, id);
}

/** How much worse than its budget a figure is: 1 or less is met. */
export function overBudget({ limit, atLeast }, measured) {
  if (atLeast) return limit / measured;
  // A budget of nothing at all has no ratio.
  if (limit === 0) return measured === 0 ? 0 : Number.POSITIVE_INFINITY;
  return Math.max(0, measured) / limit;
}

export const MET = "met";
export const MISSED = "missed";
export const NOT_HERE = "not measurable here";
export const NOT_MEASURED = "not measured";

/** @param figure - `{ median, min, max }` of what was measured, if it was. */
export function verdictOf(budget, figure) {
  if (budget.needs !== undefined) return NOT_HERE;
  if (figure === undefined) return NOT_MEASURED;
  // Also says no to a figure that is none.
  return overBudget(budget, figure.median) <= 1 ? MET : MISSED;
}

/**
 * The budgets as they were met.
 * @param measures - Figures by id.
 * @param all - Whether those are listed too that were not measured.
 */
export function judge(measures, { all = true } = {}) {
  const rows = BUDGETS.map((budget) => {
    const figure = budget.id === undefined ? undefined : measures[budget.id];
    const floor = budget.instead === undefined ? undefined : measures[budget.instead];
    const over = figure === undefined ? undefined : overBudget(budget, figure.median);
    const instead = floor === undefined ? undefined : { what: FLOORS[budget.instead], figure: floor };
    return { ...budget, figure, over, instead, verdict: verdictOf(budget, figure) };
  });
  return all ? rows : rows.filter(({ figure }) => figure !== undefined);
}
