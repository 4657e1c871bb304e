/** What a source's events tell of a call, in a line; and of many calls, by what happened in them. */
import { duration } from "../table.mjs";

/** One call's events, `[name of the listener, event]` in order, as `{ course, text }`: what happened, and that with its figures. */
export function storyOf(events, origins) {
  if (events.at(-1)?.[0] !== "onWinner") events = [...events, ["failed", undefined]];
  const steps = events.map(([name, event]) => STEPS[name](event, origins));
  return { course: steps.map(([course]) => course).join(", "), text: steps.map(([, text]) => text).join(", ") };
}

const STEPS = {
  onHedge: ({ endpoint, afterMs }, origins) => [
    `hedge to ${origins[endpoint]}`,
    `hedge to ${origins[endpoint]} after ${duration(afterMs)}`,
  ],
  onFailover: ({ from, endpoint }, origins) => alike(`failover from ${origins[from]} to ${origins[endpoint]}`),
  onRetry: ({ endpoint, backoffMs }, origins) => [
    `retry at ${origins[endpoint]}`,
    `retry at ${origins[endpoint]} after ${duration(backoffMs)}`,
  ],
  onWinner: ({ kind, endpoint, marginMs, losers }, origins) => {
    const won = `${kind} won at ${origins[endpoint]}`;
    return losers === 0
      ? alike(won)
      : [`${won}, a loser aborted`, `${won} ${duration(marginMs)} later, a loser aborted`];
  },
  failed: () => alike("failed"),
};

const alike = (text) => [text, text];

/** The courses that calls took, the most frequent first: how often, and the first call of each with its figures. */
export class Stories {
  #courses = new Map();

  add(story) {
    const known = this.#courses.get(story.course);
    if (known) known.count++;
    else this.#courses.set(story.course, { ...story, count: 1 });
  }

  list() {
    return [...this.#courses.values()].sort((a, b) => b.count - a.count);
  }
}
