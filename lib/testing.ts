export { type Clock, installClock } from "./clock";
export { type ManualClock, type ManualClockOptions, manualClock } from "./manual-clock";

import { whenIdle } from "./hub";

/** Resolves when no Redis request of this thread's native clients is waited for any more. */
export function idle(): Promise<void> {
  return whenIdle();
}
