/** The same lookup over HTTP twice: the first origin alone, and all of them with hedging, failover, retries and a breaker. */
import { AsyncLocalStorage } from "node:async_hooks";
import { httpSource } from "dialcache-native";
import { ORIGINS } from "./settings.mjs";
import { Stories, storyOf } from "./stories.mjs";

const WARM_UP_CALLS = 150;
const WARMED_AT_ONCE = 15;

/** `places` are the origins' URLs, in order. */
export async function create({ places }) {
  const told = listeners(ORIGINS.origins.map(({ name }) => name));
  const first = lookup("first", places.slice(0, 1), {});
  const policies = lookup("policies", places, { ...ORIGINS.policies, ...told.events });
  // Nothing is cached here: every call waits for a load.
  const loadsEnded = () => 0;
  return {
    sides: {
      first: { getUser: first.getUser, loadsEnded },
      policies: { getUser: (id, call) => told.during(() => policies.getUser(id, call)), loadsEnded },
    },
    prepare: () => Promise.all(places.map((place) => warmUp(lookup("warm", [place], {})))),
    figures: () => ({ events: told.counts, stories: told.stories.list(), stats: policies.users.stats() }),
    close: async () => {},
  };
}

/** `side` is what the origins know the requests by. */
function lookup(side, places, policies) {
  const users = httpSource({
    name: side,
    endpoints: places.map((place) => `${place}/${side}`),
    path: (id, call) => `/users/${id}?call=${call}`,
    timeoutMs: ORIGINS.timeoutMs,
    ...policies,
  });
  const getUser = async (id, call) => (await users(id, call)).json();
  return { users, getUser };
}

/** Listeners that count events, and put those of one call together: they are told in its async context. */
function listeners(origins) {
  const call = new AsyncLocalStorage();
  const counts = { onHedge: 0, onFailover: 0, onRetry: 0, onWinner: 0 };
  const stories = new Stories();
  const told = (name) => (event) => {
    counts[name]++;
    call.getStore()?.push([name, event]);
  };
  async function during(run) {
    const events = [];
    try {
      return await call.run(events, run);
    } finally {
      stories.add(storyOf(events, origins));
    }
  }
  const events = Object.fromEntries(Object.keys(counts).map((name) => [name, told(name)]));
  return { events, counts, stories, during };
}

/** Opens connections and has the code compiled, by a source of its own, so that none of it is in the figures. */
async function warmUp({ getUser }) {
  let next = 0;
  const caller = async () => {
    // What the failing origin answers is no surprise.
    while (next < WARM_UP_CALLS) await getUser("warm", next++).catch(() => {});
  };
  await Promise.all(Array.from({ length: WARMED_AT_ONCE }, caller));
}
