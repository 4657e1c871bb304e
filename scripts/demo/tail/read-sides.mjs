/** The same cached lookup twice: under the read deadline alone, and with the read hedged besides. */
import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { sourceClient } from "../source-client.mjs";
import { Pool } from "./pool.mjs";
import { READS } from "./settings.mjs";

const TTL_SEC = 300;
const FILL_TIMEOUT_MS = 5_000;
const FILLED_AT_ONCE = 100;
const WARMED_AT_ONCE = 4;
const USE_CASE = "GetUser";

/** `places` has a `redisUrl` and a `sourceUrl` for each side. */
export async function create({ places, warn }) {
  const sides = {
    deadline: await side("deadline", places.deadline, {}, warn),
    hedged: await side("hedged", places.hedged, { readHedge: READS.readHedge }, warn),
  };
  const all = Object.values(sides);
  return {
    sides,
    prepare: () => Promise.all(all.map(({ prepare }) => prepare())),
    figures: () => Object.fromEntries(Object.entries(sides).map(([name, { figures }]) => [name, figures()])),
    close: () => Promise.all(all.map(({ close }) => close())),
  };
}

async function side(namespace, { redisUrl, sourceUrl }, options, warn) {
  const pool = new Pool(redisUrl, READS.connections);
  const source = sourceClient(sourceUrl);
  const create = (readTimeoutMs) => {
    const dialcache = new DialCache({
      namespace,
      redis: { client: pool, readTimeoutMs },
      logger: { debug() {}, warn, error: warn },
    });
    const cachedUser = dialcache.cached(source.loadUser, {
      keyType: "user_id",
      useCase: USE_CASE,
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: TTL_SEC } }),
      ...options,
    });
    return { dialcache, getUser: (id) => dialcache.enable(() => cachedUser(id)) };
  };
  const { dialcache, getUser } = create(READS.readTimeoutMs);
  await pool.ready({ timeoutMs: 5_000 });
  return {
    getUser,
    loadsEnded: source.loadsEnded,
    prepare: async () => {
      // By another instance: what its crowded reads take is no measure of how late a read is.
      const filler = create(FILL_TIMEOUT_MS);
      await readAll(filler.getUser, FILLED_AT_ONCE);
      await filler.dialcache.drain({ timeoutMs: 5_000 });
      await filler.dialcache.close();
      await readAll(getUser, WARMED_AT_ONCE);
    },
    figures: () => dialcache.stats().useCases[USE_CASE].readHedge,
    close: async () => {
      await dialcache.close();
      pool.close();
      source.close();
    },
  };
}

/** Reads the popular users, so many at once. */
async function readAll(getUser, atOnce) {
  let next = 0;
  const reader = async () => {
    while (next < READS.filled) await getUser(`u${next++}`);
  };
  await Promise.all(Array.from({ length: atOnce }, reader));
}
