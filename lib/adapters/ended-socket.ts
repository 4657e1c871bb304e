/** What versions 5.9 and later have for another purpose: while it is paused, a client writes nothing. */
interface Pausable {
  _pause(): void;
  _unpause(): void;
  once(event: "connect", listener: () => void): unknown;
  off(event: "connect", listener: () => void): unknown;
}

interface ClusterNode {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly client?: unknown;
}

/**
 * Keeps a client that is about to reconnect from writing to the socket that has ended, as versions 5.x do in a turn that
 * was planned before. Until it is connected again it would write nothing else.
 */
export function keepFromEndedSocket(client: unknown): void {
  const { _pause, _unpause, once, off } = (client ?? {}) as Partial<Record<keyof Pausable, unknown>>;
  if ([_pause, _unpause, once, off].some((method) => typeof method !== "function")) return;
  const pausable = client as Pausable;
  const resume = (): void => {
    clearImmediate(turn);
    pausable.off("connect", resume);
    pausable._unpause();
  };
  pausable._pause();
  // Behind what was planned before it; or when there is a new socket, to which the greeting is written at once.
  const turn = setImmediate(resume);
  pausable.once("connect", resume);
}

/** The client of a cluster's node, by the address it is told with; undefined when there is none. */
export function nodeClientAt(cluster: object, address: unknown): unknown {
  const { masters = [], replicas = [] } = cluster as Partial<Record<"masters" | "replicas", readonly ClusterNode[]>>;
  const { host, port } = (address ?? {}) as ClusterNode;
  return [...masters, ...replicas].find((node) => node.host === host && node.port === port)?.client;
}
