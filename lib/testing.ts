export { type Clock, installClock } from "./clock";
export { type ManualClock, type ManualClockOptions, manualClock } from "./manual-clock";
