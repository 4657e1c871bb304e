import type { FaultProxy } from "./fault-proxy";
import { type RedisCluster, startCluster } from "./redis-cluster";
import type { RedisServer } from "./redis-server";
import type { Reply } from "./resp";

/** What the rig and its tests need of a server, whether it is one process or a cluster of them. */
export type RigServer = Pick<RedisServer, "url" | "command" | "freeze" | "thaw" | "kill" | "restart" | "stop">;

/** What they need of what stands between client and server. */
export type RigProxy = Pick<FaultProxy, "heldBytes" | "holdReplies" | "releaseReplies" | "reset" | "heal" | "close">;

/** A cluster that is handled as if it were one server: commands go to the owner of their key, or to all primaries. */
export class ClusterServer implements RigServer {
  readonly cluster: RedisCluster;

  private constructor(cluster: RedisCluster) {
    this.cluster = cluster;
  }

  static async start(binary: string): Promise<ClusterServer> {
    return new ClusterServer(await startCluster({ binary }));
  }

  get url(): never {
    throw new Error("a cluster is not one address: its nodes are");
  }

  get #primaries(): readonly RedisServer[] {
    return this.cluster.nodes.slice(0, 3).map(({ server }) => server);
  }

  async command(...args: (string | number | Buffer)[]): Promise<Reply> {
    const [name] = args;
    if (name === "INFO") return Buffer.from((await this.#each(args)).map(String).join("\n"));
    if (name === "CONFIG" || name === "ACL" || name === "CLIENT" || name === "SCRIPT") {
      return (await this.#each(args))[0] as Reply;
    }
    return this.cluster.command(String(args[1]), ...args);
  }

  #each(args: (string | number | Buffer)[]): Promise<Reply[]> {
    return Promise.all(this.#primaries.map((server) => server.command(...args)));
  }

  async freeze(): Promise<void> {
    await Promise.all(this.cluster.nodes.map(({ server }) => server.freeze()));
  }

  thaw(): void {
    for (const { server } of this.cluster.nodes) server.thaw();
  }

  async kill(): Promise<void> {
    for (const { server } of this.cluster.nodes) await server.kill();
  }

  async restart(): Promise<void> {
    for (const { server } of this.cluster.nodes) await server.restart();
    await this.cluster.settled();
  }

  stop(): Promise<void> {
    return this.cluster.stop();
  }
}

/**
 * A cluster's nodes name their own addresses, so nothing can stand between. What a proxy holds back, frozen nodes hold back
 * as well: they have the requests, and answer them when they are thawed.
 */
export class FrozenReplies implements RigProxy {
  readonly #server: ClusterServer;
  #isHolding = false;

  constructor(server: ClusterServer) {
    this.#server = server;
  }

  get heldBytes(): number {
    return this.#isHolding ? 1 : 0;
  }

  holdReplies(): void {
    this.#isHolding = true;
    // The signals are sent at once.
    void this.#server.freeze();
  }

  releaseReplies(): void {
    this.#isHolding = false;
    this.#server.thaw();
  }

  /** Ends clients' connections: by the server, which has answered before. */
  reset(): void {
    this.releaseReplies();
    void this.#server.command("CLIENT", "KILL", "TYPE", "normal");
  }

  heal(): void {
    this.releaseReplies();
  }

  async close(): Promise<void> {
    this.releaseReplies();
  }
}
