import { realDelay } from "../support/real-time";
import type { Fault, FaultAction } from "./plan";
import type { Random } from "./random";
import type { Topology } from "./topology";

/** Lets a fault happen, and resolves at its end. */
export async function inject(topology: Topology, fault: Fault, random: Random): Promise<void> {
  await realDelay(fault.calmMs);
  const ends = fault.nodes.map((node) => begin(topology, fault.action, node, random));
  await realDelay(fault.ms);
  for (const end of ends) await (await end)();
}

type End = () => Promise<void>;

async function begin(topology: Topology, action: FaultAction, node: number, random: Random): Promise<End> {
  const proxy = topology.proxies[node]!;
  const server = topology.servers[node]!;
  const heal = async () => proxy.heal();
  switch (action.kind) {
    case "delay":
      proxy.delayReplies(() => random.between(action.lowMs, action.highMs));
      return heal;
    case "trickle":
      proxy.trickleReplies(action.bytes, action.everyMs);
      return heal;
    case "hold":
      proxy.holdReplies();
      return heal;
    case "cut":
      proxy.cutRepliesAfter(action.bytes, action.withReset);
      return heal;
    case "garble":
      proxy.garbleReplies(Buffer.from(action.bytes, "latin1"));
      return heal;
    case "refuse":
      proxy.refuse();
      return heal;
    case "black hole":
      proxy.blackHole();
      return heal;
    case "lose requests":
      proxy.loseRequests();
      return heal;
    case "lose replies":
      proxy.loseReplies();
      return heal;
    case "reset": {
      proxy.reset();
      const again = setInterval(() => proxy.reset(), action.everyMs);
      return async () => clearInterval(again);
    }
    case "freeze":
      await server.freeze();
      return async () => server.thaw();
    case "kill":
      await server.kill();
      return () => server.restart();
    case "move":
      return move(topology, node, random);
  }
}

/** Moves some of a node's slots away, with their keys, and back. */
async function move(topology: Topology, node: number, random: Random): Promise<End> {
  const cluster = topology.cluster!;
  const home = cluster.nodes[node]!;
  const away = cluster.nodes[(node + 1) % cluster.nodes.length]!;
  const slots = Array.from({ length: 3 }, () => firstSlot(topology, node) + random.between(0, 5_000));
  const moved: number[] = [];
  const moving = (async () => {
    for (const slot of new Set(slots)) {
      const migration = await cluster.startMigration(slot, away);
      moved.push(slot);
      await realDelay(20);
      await migration.finish();
    }
  })();
  return async () => {
    await moving;
    for (const slot of moved) await (await cluster.startMigration(slot, home)).finish();
  };
}

function firstSlot(topology: Topology, node: number): number {
  return Math.ceil((node * 16_384) / topology.servers.length);
}
