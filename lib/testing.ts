export { type Clock, installClock } from "./clock";
export { type ManualClock, type ManualClockOptions, manualClock } from "./manual-clock";

import { whenIdle } from "./hub";

/**
 * Resolves when no Redis request of this thread's native clients is waited for any more, those of shadow validations
 * included. They do not keep the process alive, and neither does this promise.
 */
export function idle(): Promise<void> {
  return whenIdle();
}
