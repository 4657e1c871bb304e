import { DialCache, DialCacheKeyConfig } from "dialcache-native";
import { describe, expect, it } from "vitest";
import { RIGS, useRig } from "../support/rig";
import { failOnUnhandled } from "../support/unhandled";

failOnUnhandled();

/** Every label a metric may have, and the values it may take. */
const LABELS: Record<string, readonly unknown[] | "bounded by the service"> = {
  cacheNamespace: "bounded by the service",
  useCase: "bounded by the service",
  keyType: "bounded by the service",
  layer: ["request_local", "local", "remote", "remote_shadow", "noop"],
  reason: ["context", "policy_disabled", "invalid_ttl", "invalid_ramp", "ramped_down", "config_error"],
  error: [
    "key_construction",
    "config_resolution",
    "cache_read",
    "cache_write",
    "serialization_load",
    "serialization_dump",
    "compression",
    "invalidation",
    "fallback",
    "unknown",
  ],
  inFallback: [true, false],
  scope: ["process", "request_local"],
  operation: ["dump", "load", "compress", "decompress"],
  outcome: [
    "compressed",
    "below_threshold",
    "not_smaller",
    "write_over_limit",
    "decompressed",
    "fallback_raw",
    "read_over_limit",
  ],
};

const SECRET = "secret-id-90210";

describe.each(RIGS)("$client, $time", (kind) => {
  const rig = useRig(kind);

  it("Metrics remain bounded and contain no raw keys or timeout values", async () => {
    const readTimeoutMs = 73;
    const world = await rig.world({
      readTimeoutMs,
      proxy: true,
      namespace: `labels-${kind.time.length}-${kind.client.length}`,
    });
    const load = world.load("GetUser", async (id) => `source of ${id}`, {
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { local: 60, remote: 60 }, requestLocal: true }),
      fallbackTimeoutMs: 4_001,
    });
    const failing = world.load("Failing", (id) => Promise.reject(new RangeError(`no ${id}`)));
    // Miss and write, local hit, followers, a failing source, a plain call.
    await Promise.all([load(`${SECRET}-1`), load(`${SECRET}-1`)]);
    await load(`${SECRET}-1`);
    await failing(SECRET).catch(() => {});
    await world.written();
    // Hit, error reply, undecodable payload, timeout.
    const reader = new DialCache({
      namespace: world.namespace,
      redis: { client: world.client, readTimeoutMs },
      metrics: world.metrics.adapter,
      logger: null,
    });
    const again = reader.cached(async (id: string) => id, {
      keyType: "user_id",
      useCase: "GetUser",
      cacheKey: (id) => id,
      defaultConfig: new DialCacheKeyConfig({ ttlSec: { remote: 60 } }),
    });
    await reader.enable(() => again(`${SECRET}-1`));
    await world.server.command("RPUSH", world.key("GetUser", `${SECRET}-2`), "x");
    await world.plant("GetUser", `${SECRET}-3`, "{not json");
    await reader.enable(() => Promise.all([again(`${SECRET}-2`), again(`${SECRET}-3`), again("\ud800")]));
    world.proxy.holdReplies();
    const slow = load(`${SECRET}-4`);
    await world.readStarted("GetUser", 2);
    await world.lapse();
    await slow;
    await reader.close();

    const { events } = world.metrics;
    expect(world.metrics.count("error", { error: "cache_read" })).toBeGreaterThan(0);
    expect(world.metrics.count("error", { error: "fallback" })).toBeGreaterThan(0);
    for (const { method, labels } of events) {
      for (const [name, value] of Object.entries(labels)) {
        const allowed = LABELS[name];
        expect(allowed, `${method} has a label ${name}`).toBeDefined();
        if (allowed === "bounded by the service") {
          expect([world.namespace, "GetUser", "Failing", "user_id"]).toContain(value);
        } else {
          expect(allowed, `${method}.${name}`).toContain(value);
        }
      }
    }
    const text = JSON.stringify(events.map(({ labels }) => labels));
    for (const forbidden of [SECRET, "73", "4001", "TimeoutError", "RangeError", "WRONGTYPE", "dialcache-frame"]) {
      expect(text).not.toContain(forbidden);
    }
  });
});
