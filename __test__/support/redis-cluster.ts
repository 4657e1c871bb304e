import { until } from "./real-time";
import { isFree, type RedisServer, startRedis } from "./redis-server";
import type { Reply } from "./resp";
import { SLOT_COUNT, slotOf } from "./slots";

export interface RedisClusterOptions {
  /** Path of the servers' binary. Default: `redis-server` on PATH. */
  readonly binary?: string;
  /** Default 3. */
  readonly primaries?: number;
  /** Replicas of each primary. Default 1. */
  readonly replicas?: number;
  /** Further command line arguments of every node. */
  readonly args?: readonly string[];
}

/** One node. Killing, freezing and restarting it is its server's. */
export interface ClusterNode {
  readonly id: string;
  readonly server: RedisServer;
}

/** What one node says about another. */
interface NodeLine {
  readonly id: string;
  readonly flags: readonly string[];
  readonly primary: string | undefined;
  /** Who has the higher one is right about a slot. */
  readonly epoch: number;
  readonly isLinked: boolean;
  readonly slots: readonly (readonly [first: number, last: number])[];
}

/** A real cluster on this machine: primaries with all slots, and their replicas. */
export interface RedisCluster extends AsyncDisposable {
  /** All nodes, the first primaries first. */
  readonly nodes: readonly ClusterNode[];
  /** For clients. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** The nodes that serve, or may. */
  primaries(): Promise<ClusterNode[]>;
  /** The node that serves `key` now, as the living nodes see it. */
  primaryOf(key: string): Promise<ClusterNode>;
  /** The nodes that follow that one. */
  replicasOf(key: string): Promise<ClusterNode[]>;
  /** Runs one command on the primary of `key`. */
  command(key: string, ...args: (string | number | Buffer)[]): Promise<Reply>;
  /** Runs one command on every primary. */
  everywhere(...args: (string | number)[]): Promise<void>;
  /** Starts to move a slot: from now on keys that are there stay, new ones are redirected with ASK. */
  startMigration(slot: number, to: ClusterNode): Promise<SlotMigration>;
  /** Waits until every living node agrees that all slots are served. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** A slot under way. */
export interface SlotMigration {
  readonly from: ClusterNode;
  readonly to: ClusterNode;
  /** Moves the keys that are in the slot now. */
  moveKeys(): Promise<void>;
  /** Moves what is left and gives the slot to its new node. */
  finish(): Promise<void>;
}

/** Starts a cluster and resolves when all its nodes agree and all replicas are in step. */
export async function startCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { primaries = 3, replicas = 1 } = options;
  const count = primaries * (1 + replicas);
  const nodes: ClusterNode[] = [];
  try {
    for (let index = 0; index < count; index += 1) nodes.push(await startNode(options));
    const cluster = new Cluster(nodes, primaries);
    await cluster.form();
    return cluster;
  } catch (error) {
    for (const { server } of nodes) await server.stop();
    throw error;
  }
}

async function startNode({ binary, args = [] }: RedisClusterOptions): Promise<ClusterNode> {
  const clusterArgs = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"];
  // Failures are to be noticed soon, and replicas to be in step soon.
  const speed = ["--cluster-node-timeout", "1000", "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"];
  for (let attempt = 1; ; attempt += 1) {
    try {
      const server = await startRedis({
        port: await clusterPort(),
        args: [...clusterArgs, ...speed, ...args],
        ...(binary === undefined ? {} : { binary }),
      });
      return { id: String(await server.command("CLUSTER", "MYID")), server };
    } catch (error) {
      // Another process may have taken one of the two ports meanwhile.
      if (attempt === 5) throw error;
    }
  }
}

/** A free port whose bus port, 10,000 above, is free too; both below the ephemeral range. */
async function clusterPort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 8_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

class Cluster implements RedisCluster {
  readonly nodes: readonly ClusterNode[];
  readonly #primaries: number;

  constructor(nodes: readonly ClusterNode[], primaries: number) {
    this.nodes = nodes;
    this.#primaries = primaries;
  }

  get addresses() {
    return this.nodes.map(({ server }) => ({ host: "127.0.0.1", port: server.port }));
  }

  async form(): Promise<void> {
    const [first, ...others] = this.nodes as [ClusterNode, ...ClusterNode[]];
    const primaries = this.nodes.slice(0, this.#primaries);
    for (const [index, { server }] of primaries.entries()) {
      const start = Math.ceil((index * SLOT_COUNT) / primaries.length);
      const end = Math.ceil(((index + 1) * SLOT_COUNT) / primaries.length);
      const slots = Array.from({ length: end - start }, (_, offset) => start + offset);
      // Not ADDSLOTSRANGE, which Redis 6 does not have.
      await server.command("CLUSTER", "ADDSLOTS", ...slots);
    }
    // Epochs of their own: nodes that share one have to settle that first.
    for (const [index, { server }] of this.nodes.entries()) {
      await server.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
    }
    for (const { server } of others) await server.command("CLUSTER", "MEET", "127.0.0.1", first.server.port);
    await until("the nodes know each other", async () => {
      for (const node of this.nodes) if ((await nodesSeenBy(node)).length < this.nodes.length) return false;
      return true;
    });
    for (const [index, { server }] of this.nodes.slice(this.#primaries).entries()) {
      const { id } = primaries[index % primaries.length] as ClusterNode;
      await server.command("CLUSTER", "REPLICATE", id);
    }
    await this.settled();
  }

  async primaries(): Promise<ClusterNode[]> {
    const isPrimary = async (node: ClusterNode) =>
      (await nodesSeenBy(node)).some(({ id, primary }) => id === node.id && primary === undefined);
    const living = await this.#living();
    const are = await Promise.all(living.map(isPrimary));
    return living.filter((_, index) => are[index]);
  }

  async primaryOf(key: string): Promise<ClusterNode> {
    return this.#ownerOf(slotOf(key));
  }

  async replicasOf(key: string): Promise<ClusterNode[]> {
    const owner = await this.primaryOf(key);
    const lines = await nodesSeenBy(owner);
    return this.nodes.filter(({ id }) => lines.some((line) => line.id === id && line.primary === owner.id));
  }

  async command(key: string, ...args: (string | number | Buffer)[]): Promise<Reply> {
    return (await this.primaryOf(key)).server.command(...args);
  }

  async everywhere(...args: (string | number)[]): Promise<void> {
    for (const { server } of await this.primaries()) await server.command(...args);
  }

  async startMigration(slot: number, to: ClusterNode): Promise<SlotMigration> {
    const from = await this.#ownerOf(slot);
    await to.server.command("CLUSTER", "SETSLOT", slot, "IMPORTING", from.id);
    await from.server.command("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id);
    const moveKeys = async () => {
      for (;;) {
        const keys = (await from.server.command("CLUSTER", "GETKEYSINSLOT", slot, 100)) as Buffer[];
        if (keys.length === 0) return;
        await from.server.command("MIGRATE", "127.0.0.1", to.server.port, "", 0, 5_000, "REPLACE", "KEYS", ...keys);
      }
    };
    return {
      from,
      to,
      moveKeys,
      finish: async () => {
        await moveKeys();
        // The new node first: a slot that nobody claims would be refused.
        await to.server.command("CLUSTER", "SETSLOT", slot, "NODE", to.id);
        await from.server.command("CLUSTER", "SETSLOT", slot, "NODE", to.id);
        // On every node: one that learns it later turns away what it would have taken a moment before.
        await until("the slot has moved", async () => {
          return (await this.#agree()) && (await this.#ownerOf(slot)).id === to.id;
        });
      },
    };
  }

  async settled(): Promise<void> {
    await until("the cluster has settled", async () => {
      const living = await this.#living();
      for (const node of living) if (!(await this.#isSettled(node))) return false;
      return this.#agree();
    });
  }

  /** Whether all nodes see the same. */
  async #agree(): Promise<boolean> {
    return new Set(await Promise.all((await this.#living()).map(slotMapSeenBy))).size === 1;
  }

  async #isSettled({ id, server }: ClusterNode): Promise<boolean> {
    const info = String(await server.command("CLUSTER", "INFO"));
    if (!/cluster_state:ok/.test(info) || !/cluster_slots_ok:16384/.test(info)) return false;
    const replication = String(await server.command("INFO", "replication"));
    if (/role:slave/.test(replication) && !/master_link_status:up/.test(replication)) return false;
    const lines = await nodesSeenBy({ id, server });
    const replicas = lines.filter(({ primary, flags }) => primary !== undefined && !flags.includes("fail"));
    return (
      lines.every(({ flags }) => !flags.includes("handshake")) && replicas.length >= (await this.#livingReplicas())
    );
  }

  async #livingReplicas(): Promise<number> {
    const living = (await this.#living()).length;
    return living - this.#primaries;
  }

  async #ownerOf(slot: number): Promise<ClusterNode> {
    for (const node of await this.#living()) {
      const owner = await ownerSeenBy(node, slot);
      const known = this.nodes.find(({ id }) => id === owner);
      if (known !== undefined) return known;
    }
    throw new Error(`nobody serves slot ${slot}`);
  }

  /** Nodes whose process runs and is not stopped. */
  async #living(): Promise<ClusterNode[]> {
    return this.nodes.filter(({ server }) => server.isRunning);
  }

  async stop(): Promise<void> {
    for (const { server } of this.nodes) await server.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Who serves what, as one text. With the epochs: a node that takes a slot before it has heard of the latest one takes the
 * same epoch as another, and then neither is believed by all.
 */
async function slotMapSeenBy(node: ClusterNode): Promise<string> {
  const serving = (await nodesSeenBy(node)).filter(({ flags, slots }) => !flags.includes("fail") && slots.length > 0);
  return serving
    .map(({ id, epoch, slots }) => `${id} ${epoch} ${slots.join(" ")}`)
    .sort()
    .join("\n");
}

/** The living node that serves a slot. */
async function ownerSeenBy(node: ClusterNode, slot: number): Promise<string | undefined> {
  const lines = await nodesSeenBy(node);
  return lines.find(({ flags, slots }) => {
    return !flags.includes("fail") && slots.some(([first, last]) => first <= slot && slot <= last);
  })?.id;
}

async function nodesSeenBy({ server }: ClusterNode): Promise<NodeLine[]> {
  const text = String(await server.command("CLUSTER", "NODES"));
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [id, , flags, primary, , , epoch, link, ...slots] = line.split(" ") as [string, ...string[]];
      return {
        id,
        flags: String(flags).split(","),
        primary: primary === "-" ? undefined : String(primary),
        epoch: Number(epoch),
        isLinked: link === "connected",
        // Slots under way are listed in brackets.
        slots: slots
          .filter((range) => !range.startsWith("["))
          .map((range) => {
            const [first, last = first] = range.split("-");
            return [Number(first), Number(last)] as const;
          }),
      };
    });
}
