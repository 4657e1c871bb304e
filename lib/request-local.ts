import type { RequestScope } from "./context";
import type { Instance } from "./instance";
import type { NormalizedKey } from "./key";
import type { Operation } from "./operation";

interface Entry {
  readonly promise: Promise<unknown>;
  /** The instance's count of invalidations when the load began. */
  readonly since: number;
  /** Whether this is a value, and no longer a flight. */
  settled: boolean;
}

const SEPARATOR = "\0";

/**
 * A call through the request-local layer: the scope's value, its flight when `coalesce` allows to join it, or what `load`
 * brings, which the scope then keeps. The maps belong to the outermost `enable()` scope and go with it.
 */
export function callThroughMemo(
  instance: Instance,
  operation: Operation,
  scope: RequestScope,
  key: NormalizedKey,
  coalesce: boolean,
  load: () => Promise<unknown>,
): Promise<unknown> {
  // A provider may have answered after its scope was over.
  if (!scope.open) return load();
  const { tally } = operation.recorder;
  const lookupBegun = operation.recorder.lookupBegun();
  const values = valuesOf(scope, key.args === "" ? operation.plain : operation.withArgs);
  // Arguments are percent-encoded: they never hold the separator.
  const name = key.args === "" ? key.id : key.args + SEPARATOR + key.id;
  const found = values.get(name);
  const invalidated =
    found !== undefined && operation.tracked && instance.invalidations.latest(operation.keyType, key.id) > found.since;
  const known = invalidated ? undefined : found;
  if (known?.settled === false && coalesce) {
    operation.recorder.coalesced("request_local");
    return known.promise;
  }
  operation.recorder.lookedUp("request_local", lookupBegun);
  tally.requestLocalRequests += 1;
  operation.recorder.request("request_local");
  if (known?.settled === true) {
    tally.requestLocalHits += 1;
    return known.promise;
  }
  tally.requestLocalMisses += 1;
  operation.recorder.miss("request_local");

  const since = instance.invalidations.count;
  const promise = load();
  const entry: Entry = { promise, since, settled: false };
  if (coalesce) values.set(name, entry);
  promise.then(
    () => {
      entry.settled = true;
      if (!coalesce) values.set(name, entry);
    },
    () => {
      if (values.get(name) === entry) values.delete(name);
    },
  );
  return promise;
}

function valuesOf(scope: RequestScope, identity: object): Map<string, Entry> {
  scope.memo ??= new Map<unknown, unknown>();
  let values = scope.memo.get(identity) as Map<string, Entry> | undefined;
  if (values === undefined) {
    values = new Map();
    scope.memo.set(identity, values);
  }
  return values;
}
