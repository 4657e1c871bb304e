/** The second part: what is slow, by how much, and what is done about it. */

/** The p99 with hedging must be at most this part of the one without. */
export const IMPROVED_PART = 0.85;

/** A read that is slow but not dead. */
export const READS = {
  traffic: { seed: 20_260_724, ratePerSec: 250, users: 2_000, exponent: 1 },
  durationMs: 8_000,
  /** So many of the users, the most popular ones, are in Redis when it begins; the others are misses at first. */
  filled: 1_500,
  /** Replies on one connection come in order, so a late one holds up those behind it: as many as are hardly ever all busy. */
  connections: 16,
  readTimeoutMs: 250,
  /** All of them below the deadline: each of these replies is a good one. */
  late: { seed: 20_260_725, share: 0.03, minMs: 60, maxMs: 180 },
  readHedge: { delayMs: "auto" },
};

/** A source of three origins, in the order in which calls prefer them. */
export const ORIGINS = {
  traffic: { seed: 20_260_726, ratePerSec: 80, users: 2_000, exponent: 1 },
  durationMs: 10_000,
  timeoutMs: 3_000,
  origins: [
    { name: "slow", what: "30-80 ms, 5 % take 500-1,200 ms, 1 % are a 503", slowShare: 0.05, failShare: 0.01 },
    { name: "failing", what: "503, always", slowShare: 0, failShare: 1 },
    { name: "healthy", what: "30-80 ms", slowShare: 0, failShare: 0 },
  ],
  policies: {
    hedge: { delayMs: 150, maxHedges: 2, budget: { burst: 40 } },
    failover: {},
    retry: { maxAttempts: 4 },
    breaker: {},
  },
};
