/** What is done to Redis, when, and the load that goes on meanwhile. */

/** How long this package's calls wait for Redis. */
export const READ_TIMEOUT_MS = 50;

/** What a call may cost beyond the read deadline and the source's p99. */
export const OVERHEAD_MS = 20;

/** After thaw and restart, the second half of the phase must reach this part of the healthy phase's hit share. */
export const RECOVERY_PART = 0.8;

/** How long after the last arrival answers are still waited for; whatever is open then counts as never answered. */
export const DRAIN_MS = 3_000;

export const TRAFFIC = { seed: 20_260_723, ratePerSec: 400, users: 5_000, exponent: 1 };

export const PHASES = [
  { name: "healthy", seconds: 7, what: "redis-server answers; the cache fills from empty", enter: async () => {} },
  {
    name: "frozen",
    seconds: 6,
    what: "SIGSTOP: connections stay open, nothing answers",
    enter: async (redis) => redis.freeze(),
  },
  {
    name: "thawed",
    seconds: 6,
    what: "SIGCONT: the server goes on with its data",
    enter: async (redis) => redis.thaw(),
    recovers: true,
  },
  { name: "killed", seconds: 5, what: "SIGKILL: connections are refused", enter: async (redis) => redis.kill() },
  {
    name: "restarted",
    seconds: 8,
    what: "an empty server on the same port",
    enter: (redis) => redis.restart(),
    recovers: true,
  },
];

/** The phases with their begin and end, in milliseconds from the first moment of the run. */
export function timetable(phases = PHASES) {
  let begin = 0;
  return phases.map((phase) => {
    const timed = { ...phase, beginMs: begin, endMs: begin + phase.seconds * 1_000 };
    begin = timed.endMs;
    return timed;
  });
}
