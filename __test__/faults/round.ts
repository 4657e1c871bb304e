import { realDelay, until } from "../support/real-time";
import { connectClient, type FaultClient } from "./clients";
import { inject } from "./inject";
import { Leftovers } from "./leftovers";
import { Load, type LoadReport } from "./load";
import { LoopWatch } from "./loop-watch";
import { CLUSTER_NODES, describePlan, type RoundPlan } from "./plan";
import { Random } from "./random";
import { Origin, probeKey, type Service, startService } from "./service";
import type { Topology } from "./topology";

/** How soon hits must be back after a fault's end. */
const RECOVERY_MS = 2_000;

/** When it is given up to wait for them. */
const PATIENCE_MS = 10_000;

/** What one round came to. */
export interface RoundReport {
  readonly round: number;
  readonly seed: number;
  readonly what: string;
  readonly calls: number;
  readonly hits: number;
  readonly failedReads: number;
  readonly sourceRuns: number;
  readonly invalidations: { readonly done: number; readonly failed: number };
  /** Milliseconds from the last fault's end to the first hit, of the slowest server and client. */
  readonly recoveryMs: number;
  /** How long the event loop was held up at the most. */
  readonly loopWorstMs: number;
  readonly over: readonly number[];
  readonly ownOver: readonly number[];
  readonly complaints: readonly string[];
}

/** Runs one round on servers that are well, and leaves them so. */
export async function runRound(plan: RoundPlan, topology: Topology, run: string): Promise<RoundReport> {
  const { seed, round } = plan;
  const namespace = `${run} ${seed} ${round}`;
  const leftovers = new Leftovers();
  const watch = new LoopWatch();
  const origin = new Origin(plan);
  const clients: FaultClient[] = [];
  for (const name of plan.clients) clients.push(await connectClient(name, topology, plan));
  const services = clients.map((client) => startService(plan, client, origin, namespace));
  watch.start();
  try {
    const stopLoad = new Load(plan, services, origin, watch).start();
    const random = new Random(seed, round, 3);
    for (const fault of plan.faults) await inject(topology, fault, random);
    const complaints: string[] = [];
    const recoveryMs = await recovery(services, topology, namespace, watch, complaints);
    // Some calls while all is well again.
    await realDelay(100);
    const report = await stopLoad();
    const counted = await settle(services, origin, complaints);
    await close(services);
    complaints.push(...(await leftovers.complaints(topology)), ...report.complaints);
    return {
      round,
      seed,
      what: describePlan(plan),
      ...counted,
      ...withoutComplaints(report),
      recoveryMs,
      loopWorstMs: watch.worstMs,
      complaints,
    };
  } finally {
    watch.stop();
    for (const proxy of topology.proxies) proxy.heal();
    await close(services);
  }
}

function withoutComplaints({ calls, over, ownOver, invalidations }: LoadReport) {
  return { calls, over, ownOver, invalidations };
}

/** How long it takes every client to get a hit from every server. */
async function recovery(
  services: readonly Service[],
  topology: Topology,
  namespace: string,
  watch: LoopWatch,
  complaints: string[],
): Promise<number> {
  const healed = performance.now();
  const times = services.flatMap((service) =>
    topology.servers.map(async (_, node) => {
      const id = idAt(topology, namespace, node);
      for (;;) {
        const isHit = await service.probe(node, id);
        const now = performance.now();
        if (isHit) return now - healed;
        if (now - healed > PATIENCE_MS) {
          complaints.push(`${service.client.name} had no hit from server ${node} for ${PATIENCE_MS} ms`);
          return now - healed;
        }
        await realDelay(5);
      }
    }),
  );
  const slowest = Math.max(...(await Promise.all(times)));
  const own = slowest - watch.heldBetween(healed, healed + slowest);
  if (own > RECOVERY_MS) complaints.push(`hits came back after ${Math.round(slowest)} ms`);
  return slowest;
}

/** An id whose probe is kept by a server. */
function idAt(topology: Topology, namespace: string, node: number): string {
  for (let number = 0; ; number += 1) {
    const id = `probe ${number}`;
    if (topology.nodeOf(probeKey(namespace, node, id)) === node) return id;
    if (number > 1_000 * CLUSTER_NODES) throw new Error(`no id belongs to server ${node}`);
  }
}

/** Waits until nothing is under way any more, and tells what still is. */
async function settle(services: readonly Service[], origin: Origin, complaints: string[]) {
  const sum = { hits: 0, failedReads: 0, sourceRuns: 0 };
  for (const { client, cache, log } of services) {
    const left = (): string => {
      const { flights, timers, pendingWrites, shadow } = cache.stats();
      const { process } = cache.getCoalescingState();
      const counts = { ...flights, ...timers, ...process, pendingWrites, shadow: shadow.inFlight };
      const pending = { ...counts, client: client.pending() };
      return Object.entries(pending)
        .filter(([, count]) => count !== 0 && count !== null)
        .map(([name, count]) => `${name}=${count}`)
        .join(" ");
    };
    const isOver = () => left() === "";
    await until("nothing is left", isOver, PATIENCE_MS).catch(() => {
      complaints.push(`${client.name} is left with ${left()}`);
    });
    for (const { hits, errors, sourceCalls } of Object.values(cache.stats().useCases)) {
      sum.hits += hits.remote + hits.local;
      sum.failedReads += errors.cache_read ?? 0;
      sum.sourceRuns += sourceCalls;
      if (errors.unknown !== undefined) complaints.push(`${client.name}: ${errors.unknown} unknown errors`);
    }
    const bug = log.find((line) => /\bbug\b/.test(line));
    if (bug !== undefined) complaints.push(`${client.name} logged: ${bug}`);
  }
  if (sum.hits === 0) complaints.push("there was not one hit: the round proves nothing");
  // A comparison's own runs are not the callers'.
  if (origin.runs < sum.sourceRuns) complaints.push(`${sum.sourceRuns} source calls counted, ${origin.runs} made`);
  return sum;
}

async function close(services: readonly Service[]): Promise<void> {
  for (const { cache, client } of services) {
    await cache.close();
    await client.close();
  }
}
