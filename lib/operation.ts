import type { Instance } from "./instance";
import { Recorder } from "./recorder";
import { wellFormed } from "./text";

/**
 * One key type and use case of an instance. Everything that names it, registered or inline, shares its entries, flights,
 * counters and request-local values.
 */
export interface Operation {
  /** The engine's number for it. */
  readonly number: number;
  readonly keyType: string;
  readonly useCase: string;
  /** Whether its values can be invalidated. */
  readonly tracked: boolean;
  readonly recorder: Recorder;
  /** Names request-local values whose keys have no arguments. */
  readonly plain: object;
  /** Names those whose keys have some: `{ id }` and `{ id, args }` must not meet. */
  readonly withArgs: object;
}

const SEPARATOR = "\0";

/** The operations of one instance. */
export class Operations {
  readonly #instance: Instance;
  readonly #known = new Map<string, Operation>();

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  get(keyType: string, useCase: string, tracked: boolean): Operation {
    // The length keeps apart what the separator could not.
    const name = `${tracked}${keyType.length}${SEPARATOR}${keyType}${useCase}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const { engine, figures, logger, namespace, observers } = this.#instance;
    // What no key can be made of is still called by a name: the engine's, and each backend's, is UTF-8.
    const names = { cacheNamespace: namespace, useCase, keyType: wellFormed(keyType) };
    const lookupClock = this.#instance.localTimings ? () => this.#instance.now() : undefined;
    const operation: Operation = {
      // Calls of inline operations bring their own options; these are never used.
      number: engine.register({ keyType: names.keyType, useCase, tracked, call: { defaults: {}, readTimeoutMs: 1 } }),
      keyType,
      useCase,
      tracked,
      recorder: new Recorder(names, figures.tally(names.keyType, useCase), observers, logger, lookupClock),
      plain: {},
      withArgs: {},
    };
    this.#known.set(name, operation);
    return operation;
  }
}
