import { Random } from "./random";

export const CLIENT_NAMES = ["native", "node-redis", "ioredis", "glide"] as const;
export type ClientName = (typeof CLIENT_NAMES)[number];

export type TopologyName = "standalone" | "cluster";

/** What goes wrong between client and server, or with the server. */
export type FaultAction =
  /** Each reply comes later, between the two times. */
  | { readonly kind: "delay"; readonly lowMs: number; readonly highMs: number }
  /** Replies come in small pieces. */
  | { readonly kind: "trickle"; readonly bytes: number; readonly everyMs: number }
  /** Replies come all together, when the fault ends. */
  | { readonly kind: "hold" }
  /** Each connection ends in the middle of a reply. */
  | { readonly kind: "cut"; readonly bytes: number; readonly withReset: boolean }
  /** What comes is not the protocol. */
  | { readonly kind: "garble"; readonly bytes: string }
  /** Connections are reset, again and again. */
  | { readonly kind: "reset"; readonly everyMs: number }
  /** And new ones too. */
  | { readonly kind: "refuse" }
  | { readonly kind: "black hole" }
  /** Half-open: the server hears nothing more. */
  | { readonly kind: "lose requests" }
  /** Half-open: the server does what it is asked, and is not heard. */
  | { readonly kind: "lose replies" }
  /** The server's process stands still. */
  | { readonly kind: "freeze" }
  /** The server's process is killed; another one, without data, comes at the fault's end. */
  | { readonly kind: "kill" }
  /** A slot with keys moves to another node. */
  | { readonly kind: "move" };

export interface Fault {
  readonly action: FaultAction;
  /** Which servers, by index. */
  readonly nodes: readonly number[];
  /** How long the load ran without it before. */
  readonly calmMs: number;
  readonly ms: number;
}

/** All that is random about a round but the calls, which have a sequence of their own. */
export interface RoundPlan {
  readonly seed: number;
  readonly round: number;
  readonly topology: TopologyName;
  /** A cache for each, which share their entries. */
  readonly clients: readonly ClientName[];
  readonly faults: readonly Fault[];
  readonly callsPerSecond: number;
  readonly ids: number;
  readonly readTimeoutMs: number;
  readonly sourceMs: number;
  /** The native client's. */
  readonly responseTimeoutMs: number;
  readonly valueBytes: number;
  /** A read hedge's delay, when reads are hedged. */
  readonly hedgeMs: number | undefined;
  /** Whether the process keeps values, too. */
  readonly local: boolean;
  /** Whether hits are compared in the background. */
  readonly shadow: boolean;
  readonly invalidations: boolean;
}

/** How many primaries a cluster has. */
export const CLUSTER_NODES = 3;

/** The plan of one round: the same seed and number make the same plan. */
export function planRound(seed: number, round: number): RoundPlan {
  const random = new Random(seed, round);
  const topology = random.chance(0.45) ? "cluster" : "standalone";
  const clients = [random.chance(0.4) ? "native" : random.pick(CLIENT_NAMES)];
  // Two caches over two clients, one of them native more often than not.
  if (random.chance(0.25)) clients.push(random.chance(0.6) ? "native" : random.pick(CLIENT_NAMES));
  const readTimeoutMs = random.between(25, 120);
  const faults = Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => planFault(random, topology));
  return {
    seed,
    round,
    topology,
    clients,
    faults,
    callsPerSecond: random.between(150, 500),
    ids: random.between(20, 120),
    readTimeoutMs,
    sourceMs: random.between(1, 20),
    responseTimeoutMs: random.between(150, 600),
    valueBytes: random.pick([20, 200, 2_000, 6_000, 40_000]),
    hedgeMs: random.chance(0.3) ? random.between(2, readTimeoutMs - 5) : undefined,
    local: random.chance(0.25),
    shadow: random.chance(0.2),
    invalidations: random.chance(0.7),
  };
}

function planFault(random: Random, topology: TopologyName): Fault {
  const all = topology === "cluster" ? Array.from({ length: CLUSTER_NODES }, (_, index) => index) : [0];
  const action = planAction(random, topology);
  // Slots that move at both ends at once would have the nodes disagree about who is right.
  const nodes = random.chance(0.4) && action.kind !== "move" ? all : [random.pick(all)];
  return { action, nodes, calmMs: random.between(80, 200), ms: random.between(100, 600) };
}

function planAction(random: Random, topology: TopologyName): FaultAction {
  const kind = random.pick([
    "delay",
    "trickle",
    "hold",
    "cut",
    "garble",
    "reset",
    "refuse",
    "black hole",
    "lose requests",
    "lose replies",
    "freeze",
    // A cluster without replicas takes longer than a round to be whole again.
    topology === "cluster" ? "move" : "kill",
  ] as const);
  switch (kind) {
    case "delay": {
      const lowMs = random.between(0, 100);
      return { kind, lowMs, highMs: lowMs + random.between(0, 100) };
    }
    case "trickle":
      return { kind, bytes: random.between(1, 500), everyMs: random.between(1, 15) };
    case "cut":
      return { kind, bytes: random.between(0, 3_000), withReset: random.chance(0.5) };
    case "garble":
      return { kind, bytes: garbage(random) };
    case "reset":
      return { kind, everyMs: random.between(10, 150) };
    default:
      return { kind };
  }
}

/** Bytes that begin no reply, and others behind them that do. */
function garbage(random: Random): string {
  const first = String.fromCharCode(random.pick([0x00, 0x01, 0x07, 0x3f, 0x40, 0x7f]));
  const rest = Array.from({ length: random.between(0, 40) }, () => String.fromCharCode(random.between(0, 127)));
  return first + rest.join("") + random.pick(["", "\r\n", "\r\n$5\r\nhello\r\n", "\r\n*1\r\n"]);
}

/** One line about a plan. */
export function describePlan({ topology, clients, faults, hedgeMs, local, shadow }: RoundPlan): string {
  const told = faults.map(({ action, nodes, ms }) => {
    const { kind, ...more } = action;
    const parameters = Object.entries(more)
      .map(([name, value]) => ` ${name}=${typeof value === "string" ? JSON.stringify(value.slice(0, 12)) : value}`)
      .join("");
    return `${kind}${parameters} ${ms} ms${topology === "cluster" ? ` @${nodes.join(",")}` : ""}`;
  });
  const more = [hedgeMs === undefined ? "" : "hedged", local ? "local" : "", shadow ? "shadow" : ""].filter(Boolean);
  return [topology, clients.join("+"), ...more, told.join("; ")].join(" | ");
}
