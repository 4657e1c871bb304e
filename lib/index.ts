export {
  CacheLayer,
  DialCacheKeyConfig,
  type DialCacheKeyConfigInit,
  type LayerConfig,
  type ShadowConfig,
} from "./config";
export { DialCacheContext } from "./context";
export { Deadline, type DeadlineRunOptions } from "./deadline";
export { DialCache } from "./dialcache";
export * from "./errors";
export { type HttpBody, type HttpHeaders, type HttpSourceOptions, httpSource } from "./http-source";
export {
  type CacheKeySpec,
  DialCacheKey,
  type DialCacheKeyInit,
  invalidationPrefix,
  type KeyArgs,
  type KeyScalar,
  normalizeArgs,
  redisClusterHashTag,
} from "./key";
export type { Logger } from "./logger";
export type {
  CacheMetricLabels,
  CoalescedMetricLabels,
  CoalescingScope,
  CompressionMetricLabels,
  CompressionOperationMetricLabels,
  CompressionOutcome,
  DialCacheMetricsAdapter,
  DisabledMetricLabels,
  DisabledReason,
  ErrorMetricLabels,
  HedgeMetricLabels,
  InvalidationMetricLabels,
  MetricErrorKind,
  MetricLayer,
  ReadHedgeMetricLabels,
  ReadHedgeOutcome,
  SerializationMetricLabels,
  ShadowValidationMetricLabels,
  ShadowValidationOutcome,
  SourceAttemptMetricLabels,
} from "./metrics";
export { type LateReplyStats, RedisClient, type RedisClientStats, type RedisClientStatus } from "./redis-client";
export { type Awaitable, BufferSerializer, JsonSerializer, type Serializer, StringSerializer } from "./serializer";
export { source } from "./source";
export type { SourceStats } from "./source-stats";
export type * from "./source-types";
export type { DialCacheStats, DisabledCounts, InvalidationStats, LayerCounts, UseCaseStats } from "./stats";
export type * from "./types";
