import { type FaultProxy, startFaultProxy } from "../support/fault-proxy";
import { type RedisCluster, startCluster } from "../support/redis-cluster";
import { type RedisServer, startRedis } from "../support/redis-server";
import { SLOT_COUNT, slotOf } from "../support/slots";
import { CLUSTER_NODES, type TopologyName } from "./plan";

/** Servers that are used again each round, each behind a proxy. */
export interface Topology {
  readonly name: TopologyName;
  readonly servers: readonly RedisServer[];
  /** One before each server, in the same order. */
  readonly proxies: readonly FaultProxy[];
  /** Undefined for a single server. */
  readonly cluster: RedisCluster | undefined;
  /** The index of the server that a key belongs to at first. */
  nodeOf(key: string): number;
  stop(): Promise<void>;
}

export async function startStandalone(): Promise<Topology> {
  const server = await startRedis();
  const proxy = await startFaultProxy(server.port);
  return {
    name: "standalone",
    servers: [server],
    proxies: [proxy],
    cluster: undefined,
    nodeOf: () => 0,
    stop: async () => {
      await proxy.close();
      await server.stop();
    },
  };
}

/** Primaries that tell clients their proxies' ports; between themselves they talk directly. */
export async function startProxiedCluster(): Promise<Topology> {
  // What one node has to do with another must not depend on the faults: a frozen one is not dead.
  const args = ["--cluster-require-full-coverage", "no", "--cluster-node-timeout", "15000"];
  const cluster = await startCluster({ primaries: CLUSTER_NODES, replicas: 0, args });
  const servers = cluster.nodes.map(({ server }) => server);
  const proxies: FaultProxy[] = [];
  for (const server of servers) {
    const proxy = await startFaultProxy(server.port);
    proxies.push(proxy);
    await server.command("CONFIG", "SET", "cluster-announce-bus-port", server.port + 10_000);
    await server.command("CONFIG", "SET", "cluster-announce-port", proxy.port);
  }
  await told(servers, proxies);
  return {
    name: "cluster",
    servers,
    proxies,
    cluster,
    nodeOf: (key) => Math.floor((slotOf(key) * CLUSTER_NODES) / SLOT_COUNT),
    stop: async () => {
      for (const proxy of proxies) await proxy.close();
      await cluster.stop();
    },
  };
}

/** Waits until every node names the proxies' ports and no others. */
async function told(servers: readonly RedisServer[], proxies: readonly FaultProxy[]): Promise<void> {
  const wanted = proxies.map(({ port }) => port).sort();
  for (let left = servers.length; left > 0; ) {
    left = 0;
    for (const server of servers) {
      const ranges = (await server.command("CLUSTER", "SLOTS")) as [number, number, [Buffer, number]][];
      const ports = [...new Set(ranges.map(([, , [, port]]) => port))].sort();
      if (String(ports) !== String(wanted)) left += 1;
    }
  }
}
