import { createDatadogDialCacheMetrics } from "dialcache-native/datadog";
import { createOpenTelemetryDialCacheMetrics } from "dialcache-native/opentelemetry";
import { createPrometheusDialCacheMetrics } from "dialcache-native/prometheus";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { METRIC_HOOKS } from "../../lib/metrics";

describe("Options of the metrics factories", () => {
  const registry = new Registry();
  const client = { increment: () => {}, histogram: () => {}, distribution: () => {} };
  const meter = { createCounter: () => ({ add: () => {} }), createHistogram: () => ({ record: () => {} }) };
  const prometheus = createPrometheusDialCacheMetrics as (options: unknown) => unknown;
  const datadog = createDatadogDialCacheMetrics as (options: unknown) => unknown;
  const openTelemetry = createOpenTelemetryDialCacheMetrics as (options: unknown) => unknown;

  it.each<[string, (options: unknown) => unknown, unknown, string, RegExp]>([
    ["an unknown name", prometheus, { registry, prefx: "a" }, "prefx", /did you mean "prefix"\?/],
    ["no registry", prometheus, {}, "registry", /must be an object/],
    ["something else for a registry", prometheus, { registry: {} }, "registry", /must have a method registerMetric/],
    ["a prefix no metric may have", prometheus, { registry, prefix: "my-app_" }, "prefix", /letters, digits/],
    [
      "an unknown name",
      datadog,
      { client, observationMetricsType: "histogram" },
      "observationMetricsType",
      /did you mean/,
    ],
    ["no type", datadog, { client }, "observationMetricType", /"distribution" or "histogram"/],
    ["another type", datadog, { client, observationMetricType: "gauge" }, "observationMetricType", /got "gauge"/],
    [
      "a client without distribution()",
      datadog,
      { client: { ...client, distribution: undefined }, observationMetricType: "histogram" },
      "client",
      /distribution/,
    ],
    [
      "a bad namespace",
      datadog,
      { client, observationMetricType: "histogram", namespace: "a..b" },
      "namespace",
      /words/,
    ],
    [
      "a namespace that is too long",
      datadog,
      { client, observationMetricType: "histogram", namespace: "a".repeat(190) },
      "namespace",
      /at most 177 characters/,
    ],
    ["an unknown name", openTelemetry, { meter, trace: {} }, "trace", /did you mean "tracer"\?/],
    ["neither meter nor tracer", openTelemetry, {}, "meter", /meter or tracer is required/],
    ["a meter provider", openTelemetry, { meter: { getMeter: () => {} } }, "meter", /method createCounter/],
    ["a tracer provider", openTelemetry, { meter, tracer: { getTracer: () => {} } }, "tracer", /startActiveSpan/],
    ["no options", openTelemetry, undefined, "options", /must be an object/],
  ])("refuse %s (%#)", (_what, create, options, option, message) => {
    const thrown = (() => {
      try {
        create(options);
      } catch (error) {
        return error as Error;
      }
      return undefined;
    })();
    expect(thrown).toMatchObject({ code: "DIALCACHE_INVALID_OPTION", option });
    expect(thrown?.message).toMatch(message);
  });

  it("what they return has every hook of an ordinary adapter", () => {
    for (const metrics of [
      prometheus({ registry, prefix: "hooks_" }),
      datadog({ client, observationMetricType: "histogram" }),
      openTelemetry({ meter }),
    ]) {
      expect(Object.keys(metrics as object)).toEqual(expect.arrayContaining([...METRIC_HOOKS]));
    }
  });
});
