import type { Leaves } from "./config";
import type { RequestScope } from "./context";
import { DialCacheKeyError } from "./errors";
import { ignoreOutcome } from "./guard";
import type { Instance } from "./instance";
import { DialCacheKey, type KeyArgs, type NormalizedKey, normalizeArgs, normalizeKeySpec, refuseBraces } from "./key";
import { Leader } from "./leader";
import type { MetricLayer } from "./metrics";
import {
  type CallConfig,
  FREED,
  INVALID_SHADOW_RAMP,
  JOIN,
  KEY_ERROR,
  KIND,
  LAYER_HIT,
  LAYER_MISS,
  NUMBER,
  NUMBER_BITS,
  type PolicyLeaves,
  SOURCE,
  TRACE_BITS,
  UNSHADOWED,
} from "./native";
import type { Operation } from "./operation";
import type { ResolvedUseCase } from "./options";
import { type Call, plainCall } from "./plain-call";
import type { Recorder } from "./recorder";
import { callThroughMemo } from "./request-local";
import { JsonSerializer, type Serializer } from "./serializer";
import { isWellFormed } from "./text";

const LAYER_MASK = (1 << TRACE_BITS) - 1;
const JSON_SERIALIZER: Serializer<unknown> = new JsonSerializer();

/** What a registered function's calls, or one inline call, are made with. */
export class UseCase {
  readonly instance: Instance;
  readonly name: string;
  readonly readTimeoutMs: number;
  readonly fallbackTimeoutMs: number | undefined;
  /** After how long its reads are hedged: milliseconds, or 0 for `"auto"`; undefined: never. */
  readonly readHedgeMs: number | undefined;
  readonly serializer: Serializer<unknown>;
  readonly recorder: Recorder;
  /** Decides whether two values are equal; undefined for `util.isDeepStrictEqual`. */
  readonly shadowComparator: ResolvedUseCase["shadowComparator"];
  /** Whether its values can be invalidated. */
  readonly tracked: boolean;

  readonly #operation: Operation;
  readonly #options: ResolvedUseCase;
  readonly #call: CallConfig;
  /** Whether its own policy has a shadow ramp. */
  readonly #shadowed: boolean;

  constructor(instance: Instance, operation: Operation, options: ResolvedUseCase) {
    this.instance = instance;
    this.name = options.useCase;
    this.readTimeoutMs = options.redisReadTimeoutMs ?? instance.remote?.readTimeoutMs ?? 1;
    this.fallbackTimeoutMs = options.fallbackTimeoutMs;
    this.readHedgeMs = options.readHedgeMs;
    this.serializer = options.serializer ?? instance.remote?.serializer ?? JSON_SERIALIZER;
    this.recorder = operation.recorder;
    this.tracked = operation.tracked;
    this.shadowComparator = options.shadowComparator;
    this.#shadowed = isShadowed(options.defaults.shadowRamp);
    this.#operation = operation;
    this.#options = options;
    this.#call = {
      defaults: present(options.defaults),
      readTimeoutMs: this.readTimeoutMs,
      ...(options.fallbackTimeoutMs === undefined ? {} : { sourceTimeoutMs: options.fallbackTimeoutMs }),
      ...(options.readHedgeMs === undefined ? {} : { readHedgeMs: options.readHedgeMs }),
    };
  }

  /**
   * The engine's fast lookup: see `Start` in the binding. Undefined when a hit takes more than a lookup: a provider to
   * ask, a request-local layer to look into, a clock to set, or somebody who wants each event.
   */
  lookup(): ((id: string, args?: string) => number) | undefined {
    const { clock, engine, provider } = this.instance;
    if (provider !== undefined || clock !== undefined || this.recorder.hitsObserved) return undefined;
    const { defaults, keyType, useCase } = this.#options;
    if (defaults.requestLocal === true || !isWellFormed(keyType)) return undefined;
    return engine.lookupFunction(engine.register({ keyType, useCase, tracked: this.tracked, call: this.#call }));
  }

  /** A call in an enabled scope, by what its key selector returned. */
  call(scope: RequestScope, spec: unknown, call: Call): Promise<unknown> {
    const { provider } = this.instance;
    let key: NormalizedKey;
    let dialCacheKey: DialCacheKey | undefined;
    let runtime: Leaves | undefined | Promise<Leaves | undefined>;
    try {
      if (!isWellFormed(this.#options.keyType)) throw new DialCacheKeyError("keyType must be well-formed text");
      key = normalizeKeySpec(spec);
      if (this.tracked) refuseBraces(key.id, "id");
      if (provider !== undefined) dialCacheKey = this.#dialCacheKey(key, spec);
    } catch (error) {
      // The promise of an asynchronous selector is no key, and nobody else looks at how it ends.
      ignoreOutcome(spec);
      return this.keyFailed(error, call);
    }
    if (provider === undefined || dialCacheKey === undefined) return this.#cached(scope, key, undefined, call);
    try {
      runtime = provider(dialCacheKey);
    } catch (error) {
      return this.#configFailed(error, call);
    }
    if (!(runtime instanceof Promise)) return this.#cached(scope, key, runtime, call);
    return runtime.then(
      (leaves) => {
        try {
          return this.#cached(scope, key, leaves, call);
        } catch (error) {
          return this.broken(error, call);
        }
      },
      (error: unknown) => this.#configFailed(error, call),
    );
  }

  /** A bug of this package was caught on the way to the source, which runs as if there were no cache. */
  broken(error: unknown, call: Call): Promise<unknown> {
    this.recorder.error("noop", "unknown");
    this.recorder.warn("a bug was caught, the source runs uncached; please report it", error);
    return plainCall(call);
  }

  /** The selector threw, or what it returned is no key: the source runs uncached. */
  keyFailed(error: unknown, call: Call): Promise<unknown> {
    this.recorder.error("noop", "key_construction");
    this.recorder.warn("no key could be made of a call, its source runs uncached", error);
    return this.#uncached(call);
  }

  #configFailed(error: unknown, call: Call): Promise<unknown> {
    this.recorder.configFailed();
    this.recorder.warn("the config provider failed, the source runs uncached", error);
    return this.#uncached(call);
  }

  /**
   * Follows a lookup's answer when it was not a plain hit.
   * @param layer - Layer the source is said to make up for; undefined to ask the engine, which was just asked for the rest.
   * @param tell - Tells observers of the lookup, once the answer was followed as far as others can change it.
   * @param shadowed - Whether the call's policy has a shadow ramp.
   */
  follow(
    answer: number,
    layer: MetricLayer | undefined,
    call: Call,
    tell: () => void = nothing,
    shadowed = this.#shadowed,
  ): Promise<unknown> {
    const { instance } = this;
    const number = answer & NUMBER;
    const kind = (answer >> NUMBER_BITS) & KIND;
    if ((answer & FREED) !== 0) instance.dropFreed();
    switch (kind) {
      case 0: {
        const value = instance.slots[number] as Promise<unknown>;
        tell();
        return value;
      }
      case JOIN: {
        const flight = instance.flights[number] as Promise<unknown>;
        tell();
        this.recorder.coalesced("process");
        return flight;
      }
      case KEY_ERROR:
        return this.keyFailed(new DialCacheKeyError("id of a key must be well-formed text"), call);
      default: {
        const sample = shadowed ? instance.engine.shadowSample(number) : UNSHADOWED;
        const leader = new Leader(this, number, layer ?? this.#missedLayer() ?? "local", call, sample);
        leader.start(kind, sample === INVALID_SHADOW_RAMP ? () => this.#shadowRampInvalid(tell) : tell);
        return leader.promise;
      }
    }
  }

  #cached(scope: RequestScope, key: NormalizedKey, runtime: Leaves | undefined, call: Call): Promise<unknown> {
    const { defaults } = this.#options;
    if ((runtime?.requestLocal ?? defaults.requestLocal) !== true) return this.#shared(key, runtime, call, "local");
    const coalesce = runtime?.coalesce ?? defaults.coalesce ?? true;
    const load = (): Promise<unknown> => this.#shared(key, runtime, call, "request_local");
    return callThroughMemo(this.instance, this.#operation, scope, key, coalesce, load);
  }

  /**
   * The layers below the request: process-local, flights, Redis.
   * @param above - Layer the source is said to make up for when it misses none of these, as in DialCache.
   */
  #shared(key: NormalizedKey, runtime: Leaves | undefined, call: Call, above: MetricLayer): Promise<unknown> {
    const { instance, recorder } = this;
    const since = recorder.lookupBegun();
    const config = runtime === undefined ? this.#call : { ...this.#call, runtime: present(runtime) };
    const shadowed = runtime?.shadowRamp === undefined ? this.#shadowed : isShadowed(runtime.shadowRamp);
    const answer = this.#begin(key, config);
    if (!recorder.observed) return this.follow(answer, above, call, nothing, shadowed);

    const trace = instance.engine.trace();
    const tell = (): void => {
      recorder.traced(trace);
      const local = trace & LAYER_MASK;
      if (local === LAYER_HIT || local === LAYER_MISS) recorder.lookedUp("local", since);
    };
    return this.follow(answer, missedLayer(trace) ?? above, call, tell, shadowed);
  }

  #shadowRampInvalid(tell: () => void): void {
    tell();
    this.recorder.error("remote_shadow", "config_resolution");
  }

  #missedLayer(): MetricLayer | undefined {
    return this.recorder.observed ? missedLayer(this.instance.engine.trace()) : undefined;
  }

  /** Runs the source with its deadline and nothing else. */
  #uncached(call: Call): Promise<unknown> {
    this.instance.tick();
    const flight = this.instance.engine.beginUncached(this.#operation.number, this.#call);
    const leader = new Leader(this, flight, "noop", call, UNSHADOWED);
    leader.start(SOURCE, nothing);
    return leader.promise;
  }

  #begin(key: NormalizedKey, config: CallConfig): number {
    this.instance.tick();
    return this.instance.engine.begin(this.#operation.number, key.id, key.args, config);
  }

  #dialCacheKey(key: NormalizedKey, spec: unknown): DialCacheKey {
    const args = typeof spec === "object" && spec !== null ? (spec as { args?: KeyArgs | null }).args : undefined;
    return new DialCacheKey({
      namespace: this.instance.namespace,
      keyType: this.#options.keyType,
      id: key.id,
      useCase: this.name,
      args: normalizeArgs(args ?? {}),
      defaultConfig: this.#options.defaultConfig,
      serializer: this.serializer,
      trackForInvalidation: this.#options.trackForInvalidation,
    });
  }
}

function nothing(): void {}

/** Whether a shadow ramp lets any key in, or is none. */
function isShadowed(ramp: Leaves["shadowRamp"]): boolean {
  return (ramp ?? 0) !== 0;
}

/** The lowest layer a call missed: the one whose value the source makes up for. */
function missedLayer(trace: number): MetricLayer | undefined {
  if (trace >> TRACE_BITS === LAYER_MISS) return "remote";
  return (trace & LAYER_MASK) === LAYER_MISS ? "local" : undefined;
}

/** Leaves as the binding takes them: absent ones left out. */
function present(leaves: Leaves): PolicyLeaves {
  return Object.fromEntries(Object.entries(leaves).filter(([, value]) => value !== undefined));
}
