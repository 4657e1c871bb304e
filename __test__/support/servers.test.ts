import { describe, expect, it, onTestFinished } from "vitest";
import { startCluster } from "./redis-cluster";
import { startRedis } from "./redis-server";
import { SERVERS } from "./servers";
import { slotOf } from "./slots";

describe.each(SERVERS)("$name", ({ binary }) => {
  it("starts alone", async () => {
    const server = await startRedis({ binary });
    onTestFinished(() => server.stop());
    expect(await server.command("PING")).toBe("PONG");
  });

  it("starts as a cluster that moves a slot and survives the loss of a primary", async () => {
    const cluster = await startCluster({ binary });
    onTestFinished(() => cluster.stop());
    const key = "{tag}key";
    await cluster.command(key, "SET", key, "value");
    const before = await cluster.primaryOf(key);
    const [target] = cluster.nodes.slice(0, 3).filter(({ id }) => id !== before.id);
    const migration = await cluster.startMigration(slotOf(key), target!);
    await expect(before.server.command("GET", "{tag}other")).rejects.toThrow("ASK");
    await migration.finish();
    expect(String(await cluster.command(key, "GET", key))).toBe("value");
    expect((await cluster.primaryOf(key)).id).toBe(target!.id);

    await cluster.settled();
    const [replica] = await cluster.replicasOf(key);
    await target!.server.kill();
    await cluster.settled();
    expect((await cluster.primaryOf(key)).id).toBe(replica!.id);
  });
});

it("slots are those of the cluster specification", () => {
  expect(slotOf("123456789")).toBe(0x31c3);
  expect(slotOf("{user1000}.following")).toBe(slotOf("user1000"));
  expect(slotOf("foo{}{bar}")).toBe(slotOf("foo{}{bar}"));
  expect(slotOf("foo{{bar}}zap")).toBe(slotOf("{bar"));
});
