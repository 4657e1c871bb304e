import { type Clock, installedClock } from "../clock";
import type { Countable, Reading } from "../figures";
import type { DialCacheMetricsAdapter } from "../metrics";
import { inRootContext } from "../root";
import type { CountingHook } from "../tally";
import { isThenable } from "../thenable";
import type { Tags } from "./catalogue";
import { Ledger, type Total } from "./ledger";

/** How often counters are sent, in milliseconds. */
const INTERVAL_MS = 10_000;

/** A metrics adapter that sends its counters every 10 seconds. */
export interface FlushableDialCacheMetrics extends DialCacheMetricsAdapter {
  /** Sends what was counted since the last time. To be called before the backend's client is closed. Never throws. */
  flush(): void;
}

/** Tells a backend how much attached instances' counters grew, every 10 seconds, and never keeps the process alive. */
export class DeltaReporter {
  readonly #send: (hook: CountingHook, tags: Tags, delta: number) => unknown;
  readonly #sendGauge: ((reading: Reading) => unknown) | undefined;
  readonly #ledger = new Ledger();
  readonly #sent = new Map<Total, number>();
  readonly #clock: Clock | undefined = installedClock();
  #armed = false;

  /**
   * @param send - One that throws is asked again, with what has come together, the next time.
   * @param sendGauge - Gets what goes up and down. One that throws is asked again the next time, with what is then.
   */
  constructor(
    send: (hook: CountingHook, tags: Tags, delta: number) => unknown,
    sendGauge?: (reading: Reading) => unknown,
  ) {
    this.#send = send;
    this.#sendGauge = sendGauge;
  }

  attach(figures: Countable, owner: object): void {
    this.#ledger.attach(figures, owner);
    if (!this.#armed) inRootContext(() => this.#arm());
  }

  /** Calls `visit` with what goes up and down, as of now. */
  gauges(visit: (reading: Reading) => void): void {
    this.#ledger.gauges(visit);
  }

  /** Sends now. Whether everything could be sent. */
  flush(): boolean {
    let complete = true;
    for (const total of this.#ledger.read()) {
      const delta = total.total - (this.#sent.get(total) ?? 0);
      if (delta <= 0) continue;
      if (attempt(() => this.#send(total.hook, total.tags, delta))) this.#sent.set(total, total.total);
      else complete = false;
    }
    const sendGauge = this.#sendGauge;
    if (sendGauge !== undefined) this.#ledger.gauges((reading) => attempt(() => sendGauge(reading)));
    return complete;
  }

  #arm(): void {
    this.#armed = true;
    const fire = (): void => this.#fire();
    const handle =
      this.#clock === undefined ? setTimeout(fire, INTERVAL_MS) : this.#clock.setTimeout(fire, INTERVAL_MS);
    (handle as { unref?: () => void } | undefined)?.unref?.();
  }

  #fire(): void {
    this.#armed = false;
    const complete = this.flush();
    // Once every instance is gone and all is sent, this reporter may go too.
    if (this.#ledger.attached > 0 || !complete) this.#arm();
  }
}

/** Whether `send` did not throw. A later rejection is nobody's. */
function attempt(send: () => unknown): boolean {
  try {
    const result = send();
    if (isThenable(result)) Promise.resolve(result).catch(() => {});
    return true;
  } catch {
    return false;
  }
}
