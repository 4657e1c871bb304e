import type { DialCacheRedisClient, RedisReadRequest } from "dialcache-native";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ADAPTERS, type AdapterKind, CLIENTS, type ConnectedAdapter, payloadOf } from "../support/adapters";
import { until } from "../support/real-time";
import { type RedisCluster, startCluster } from "../support/redis-cluster";
import { SERVERS } from "../support/servers";
import { slotOf } from "../support/slots";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

const TTL_MS = 60_000;
let entities = 0;

/** Keys of an entity nobody has used, as DialCache names them: one hash tag, so one slot. */
function fresh(kind: AdapterKind) {
  entities += 1;
  const tag = `{${encodeURIComponent(kind.name)}:user_id:${entities}}`;
  return { valueKey: `${tag}#GetUser:dialcache-frame-v1`, watermarkKey: `${tag}#watermark`, cacheTtlMs: TTL_MS };
}

describe.each(SERVERS)("a cluster of $name", ({ binary }) => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startCluster({ binary });
  });
  afterAll(() => cluster.stop());

  it("an entry written by one client is read, and invalidated, by every other", async () => {
    const all: ConnectedAdapter[] = [];
    onTestFinished(() => {
      for (const { close } of all) close();
    });
    for (const kind of CLIENTS) all.push(await kind.connect({ nodes: cluster.addresses }));
    const read = async (keys: RedisReadRequest) =>
      (await Promise.all(all.map(({ client }) => client.read(keys)))).map(payloadOf);
    for (const [index, writer] of all.entries()) {
      for (const value of ["€", Buffer.from([0xff, 0x00])]) {
        const { watermarkKey, ...untracked } = fresh(CLIENTS[index]!);
        expect(await writer.client.write({ ...untracked, value })).toBe(true);
        expect(await read(untracked)).toEqual(all.map(() => value));
        for (const invalidator of all) {
          const tracked = fresh(CLIENTS[index]!);
          expect(await writer.client.write({ ...tracked, value })).toBe(true);
          expect(await read(tracked)).toEqual(all.map(() => value));
          await invalidator.client.invalidate({ ...tracked, futureBufferMs: TTL_MS });
          expect(await read(tracked)).toEqual(all.map(() => null));
        }
      }
    }
  });

  describe.each(CLIENTS)("$name", (kind) => {
    let connected: ConnectedAdapter;
    let client: DialCacheRedisClient;
    beforeAll(async () => {
      connected = await kind.connect({ nodes: cluster.addresses });
      client = connected.client;
    });
    afterAll(() => connected.close());

    it("reads, writes and invalidates on every node", async () => {
      const requests = Array.from({ length: 60 }, () => fresh(kind));
      await cluster.everywhere("SCRIPT", "FLUSH");
      for (const value of [Buffer.from([0xff, 0x00]), "€"]) {
        const written = await Promise.all(requests.map((request) => client.write({ ...request, value })));
        expect(new Set(written)).toEqual(new Set([true]));
        const hits = await Promise.all(requests.map((request) => client.read(request)));
        expect(hits.map(payloadOf)).toEqual(requests.map(() => value));
      }
      const owners = await Promise.all(requests.map(({ valueKey }) => cluster.primaryOf(valueKey)));
      expect(new Set(owners.map(({ id }) => id)).size).toBe(3);
      await Promise.all(requests.map((request) => client.invalidate({ ...request, futureBufferMs: TTL_MS })));
      expect(new Set(await Promise.all(requests.map((request) => client.read(request))))).toEqual(new Set([null]));
      const refused = await Promise.all(requests.map((request) => client.write({ ...request, value: "late" })));
      expect(new Set(refused)).toEqual(new Set([false]));
    });

    it("brings untracked values back", async () => {
      const requests = Array.from({ length: 30 }, () => ({ valueKey: fresh(kind).valueKey, cacheTtlMs: TTL_MS }));
      await Promise.all(requests.map((request, index) => client.write({ ...request, value: Buffer.from([index]) })));
      const hits = await Promise.all(requests.map((request) => client.read(request)));
      expect(hits.map(payloadOf)).toEqual(requests.map((_, index) => Buffer.from([index])));
    });

    it("stamps each value once: the SET is always there first", async () => {
      await client.write({ ...fresh(kind), value: "a" });
      const requests = Array.from({ length: 300 }, () => fresh(kind));
      await cluster.everywhere("SCRIPT", "LOAD", "return 1");
      for (const request of requests.slice(0, 60)) await client.write({ ...request, value: "known" });
      await cluster.everywhere("CONFIG", "RESETSTAT");
      await Promise.all(requests.map((request) => client.write({ ...request, value: "a" })));
      expect(await calls(cluster, "evalsha")).toBe(300);
      expect(await calls(cluster, "set")).toBeGreaterThanOrEqual(300);
    });

    it("follows a slot that has moved", async () => {
      const request = fresh(kind);
      await client.write({ ...request, value: "before" });
      const owner = await cluster.primaryOf(request.valueKey);
      const target = cluster.nodes.slice(0, 3).find(({ id }) => id !== owner.id);
      const migration = await cluster.startMigration(slotOf(request.valueKey), target!);
      await migration.finish();
      expect(payloadOf(await client.read(request))).toEqual("before");
      expect(await client.write({ ...request, value: "after" })).toBe(true);
      expect(payloadOf(await client.read(request))).toEqual("after");
      await client.invalidate({ ...request, futureBufferMs: TTL_MS });
      expect(await client.read(request)).toBeNull();
      await (await cluster.startMigration(slotOf(request.valueKey), owner)).finish();
    });

    it("answers or fails, and serves nothing wrong, while a slot is moving", async () => {
      const request = fresh(kind);
      await client.write({ ...request, value: "before" });
      const owner = await cluster.primaryOf(request.valueKey);
      const target = cluster.nodes.slice(0, 3).find(({ id }) => id !== owner.id);
      const migration = await cluster.startMigration(slotOf(request.valueKey), target!);
      expect(payloadOf(await client.read(request))).toEqual("before");
      await migration.moveKeys();
      expect(payloadOf(await client.read(request))).toEqual("before");
      const written = await Promise.resolve(client.write({ ...request, value: "during" })).catch(() => false);
      expect(payloadOf(await client.read(request))).toEqual(written ? "during" : "before");
      await migration.finish();
      await until("writes are taken again", () => client.write({ ...request, value: "after" }) as Promise<boolean>);
      expect(payloadOf(await client.read(request))).toEqual("after");
      await (await cluster.startMigration(slotOf(request.valueKey), owner)).finish();
    });
  });
});

async function calls(cluster: RedisCluster, command: string): Promise<number> {
  let sum = 0;
  for (const { server } of cluster.nodes.slice(0, 3)) {
    const info = String(await server.command("INFO", "commandstats"));
    sum += Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(info)?.[1] ?? 0);
  }
  return sum;
}

describe("told to read from replicas", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  // All that can be told so: the native client reads from primaries alone.
  it.each(ADAPTERS.map((kind) => [kind.name, kind] as const))(
    "%s reads tracked keys from the primary all the same",
    async (_name, kind) => {
      const connected = await kind.connect({ nodes: cluster.addresses, readReplicas: true });
      onTestFinished(() => connected.close());
      const request = fresh(kind);
      await connected.client.write({ ...request, value: Buffer.from([0xff, 0x00]) });
      const replicas = await cluster.replicasOf(request.valueKey);
      // A replica that stands still: what is asked of it is not answered.
      for (const { server } of replicas) await server.freeze();
      onTestFinished(async () => {
        for (const { server } of replicas) server.thaw();
        await cluster.settled();
      });
      expect(replicas).toHaveLength(1);
      for (let read = 0; read < 20; read += 1) {
        expect(payloadOf(await connected.client.read(request))).toEqual(Buffer.from([0xff, 0x00]));
      }
    },
  );
});
