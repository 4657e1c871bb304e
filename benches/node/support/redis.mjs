/** A redis-server of the benchmarks' own. */
import { hold } from "../../../scripts/demo/children.mjs";
import { RedisServer } from "../../../scripts/demo/servers.mjs";

/** Started on a free port; ended with the workload, whatever ends it. */
export async function startRedis() {
  return hold(await RedisServer.start());
}
