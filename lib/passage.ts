import type { CompressionOutcome } from "./metrics";
import { type Passage, Passed } from "./native";

export type { Passage };

/** What a passage through the envelope is called; undefined when the compressor had no part in it, or failed. */
export const OUTCOMES: Readonly<Record<number, CompressionOutcome>> = {
  [Passed.Compressed]: "compressed",
  [Passed.BelowThreshold]: "below_threshold",
  [Passed.NotSmaller]: "not_smaller",
  [Passed.WriteOverLimit]: "write_over_limit",
  [Passed.Decompressed]: "decompressed",
  [Passed.FallbackRaw]: "fallback_raw",
  [Passed.ReadOverLimit]: "read_over_limit",
};

/** The compressor was at work, and not only asked. */
export function compressorRan({ outcome }: Passage): boolean {
  return outcome === Passed.Compressed || outcome === Passed.NotSmaller;
}

/** The compressor failed: the payload goes to Redis as it is. */
export function compressorFailed({ outcome }: Passage): boolean {
  return outcome === Passed.Failed;
}

/** The passage of a payload that goes to Redis untouched. */
export function untouched(compressing: boolean): Passage {
  return { outcome: compressing ? Passed.BelowThreshold : Passed.Untouched, seconds: 0 };
}
