export { type Clock, installClock } from "./clock";
export { type ManualClock, type ManualClockOptions, manualClock } from "./manual-clock";

import { whenIdle } from "./hub";

/**
 * Resolves when no native work of this thread is waited for any more: requests of native clients, those of shadow
 * validations included, and payloads of other clients on their way through the compressor. Neither requests of shadow
 * validations nor this promise keep the process alive.
 */
export function idle(): Promise<void> {
  return whenIdle();
}
