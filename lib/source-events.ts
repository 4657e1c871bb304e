import { callGuarded } from "./guard";
import type { SourceEvent } from "./native";
import type { SourceEvents } from "./source-types";

/** Tells a source's listeners what its engine has decided. */
export function tellEvent(source: string, listeners: SourceEvents, told: SourceEvent): void {
  const { attempt, endpoint, ms, from, kind, losers } = told;
  switch (told.event) {
    case "hedge":
      callGuarded(listeners, "onHedge", [{ source, attempt, endpoint, afterMs: ms }]);
      break;
    case "failover":
      callGuarded(listeners, "onFailover", [{ source, attempt, from, endpoint }]);
      break;
    case "retry":
      callGuarded(listeners, "onRetry", [{ source, attempt, endpoint, backoffMs: ms }]);
      break;
    default:
      callGuarded(listeners, "onWinner", [{ source, attempt, kind, endpoint, marginMs: ms, losers }]);
  }
}
