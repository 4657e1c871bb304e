import { isDeepStrictEqual } from "node:util";
import type { ClientRead } from "./client-io";
import { DialCacheClosedError, RedisReadTimeoutError } from "./errors";
import type { Instance } from "./instance";
import type { MetricErrorKind, ShadowValidationOutcome } from "./metrics";
import { SHADOW_DROPPED, SHADOW_OUTCOMES, ShadowEvent, type ShadowFacts, ShadowNext } from "./native";
import { checkedPayload, copyOf, samePayload } from "./payload";
import type { Call } from "./plain-call";
import type { RedisCachePayload } from "./redis-types";
import type { RemoteLayer } from "./remote-layer";
import type { Serializer } from "./serializer";
import { type Found, type Requester, readForShadow, writeForShadow } from "./shadow-io";
import { clippedJson, clippedKey } from "./shadow-log";
import { stackless } from "./stackless";
import { adopt, isThenable } from "./thenable";
import type { UseCase } from "./use-case";

const MS_PER_SECOND = 1_000;

/** Failures of a job that are errors of the cache too. Those of a fill are told apart where they happen. */
const ERRORS: Readonly<Partial<Record<ShadowValidationOutcome, MetricErrorKind>>> = {
  redis_error: "cache_read",
  confirmation_error: "cache_read",
  deserialization_error: "serialization_load",
};

/** A hit whose value goes to a caller. */
export interface ServedHit {
  /** A payload of the job's own: the serializer may hand the other one through, to a caller who changes it. */
  readonly payload: RedisCachePayload;
  /** Milliseconds since the Unix epoch, when known. */
  readonly createdAtMs: number | undefined;
  /** Runs the source for the comparison. */
  readonly call: Call;
}

// Not looked up later: under fake timers only an installed clock's deadlines are to move.
const realSetTimeout = setTimeout;

/** Runs `fn` in a later turn of the event loop, after everything the caller does at once. Does not hold the process. */
function later({ clock }: Instance, fn: () => void): void {
  if (clock?.setImmediate === undefined) realSetTimeout(fn, 0).unref();
  else clock.setImmediate(fn);
}

/**
 * The job of a sampled leader, to be started; undefined when there is no room for one.
 * @param hit - What was served. Without it the key is ramped out, and the leader tells the job what its source brings.
 */
export function beginShadow(
  useCase: UseCase,
  remote: RemoteLayer,
  flight: number,
  hit?: ServedHit,
): ShadowJob | undefined {
  const { instance, recorder } = useCase;
  instance.tick();
  const number = instance.engine.beginShadow(flight);
  if (number === SHADOW_DROPPED) later(instance, () => recorder.shadowed("dropped"));
  return number < 0 ? undefined : new ShadowJob(useCase, remote, number, hit);
}

/**
 * One shadow validation. The engine decides each step; this runs them, in continuations of the leader's own call, and
 * none before its caller is answered but the serializer's, see `accepted()`.
 */
export class ShadowJob {
  readonly #instance: Instance;
  readonly #useCase: UseCase;
  readonly #remote: RemoteLayer;
  readonly #number: number;
  #facts: ShadowFacts | undefined;
  #due!: () => void;
  #closed!: () => void;

  #call: Call | undefined;
  #payload: RedisCachePayload | undefined;
  #createdAtMs: number | undefined;
  #cached: unknown;
  #source: unknown;
  #dumped: string | Uint8Array | undefined;
  #clientRead: ClientRead | undefined;
  #ageSeconds: number | undefined;
  #differing: { readonly cached: string | null; readonly source: string | null } | undefined;
  #fillError: MetricErrorKind = "cache_write";
  /** Whether the value may be on its way to Redis, for which `drain()` waits. */
  #filling = false;
  #writing = false;
  #broken = false;

  constructor(useCase: UseCase, remote: RemoteLayer, number: number, hit: ServedHit | undefined) {
    this.#instance = useCase.instance;
    this.#useCase = useCase;
    this.#remote = remote;
    this.#number = number;
    this.#call = hit?.call;
    this.#payload = hit?.payload;
    this.#createdAtMs = hit?.createdAtMs;
    // Timers and `close()` call from other contexts than the leader's, where no user code may run.
    new Promise<void>((resolve) => {
      this.#due = resolve;
    }).then(() => this.#tell(ShadowEvent.Due));
    new Promise<void>((resolve) => {
      this.#closed = resolve;
    }).then(() => this.#tell(ShadowEvent.Closed));
    this.#instance.shadows.set(number, this);
    this.#instance.syncTimer();
  }

  /** Begins, once the leader's caller is served or its source runs. */
  start(): void {
    later(this.#instance, () => this.#tell(ShadowEvent.Started));
  }

  /**
   * The leader's source brought a value, which its caller gets next. As before an ordinary write `dump` is started
   * first: what the caller changes afterwards is not what is stored.
   */
  accepted(value: unknown): void {
    this.#source = value;
    this.#tell(ShadowEvent.SourceOk);
    later(this.#instance, () => this.#tell(ShadowEvent.Answered));
  }

  /** The leader's source failed or took too long. */
  sourceFailed(): void {
    this.#tell(ShadowEvent.SourceFailed);
  }

  /** A deadline has passed. */
  due(): void {
    this.#due();
  }

  /** The Redis layer was turned off. */
  closed(): void {
    this.#closed();
  }

  #tell(event: ShadowEvent): void {
    if (this.#broken) return;
    try {
      this.#instance.tick();
      this.#follow(this.#instance.engine.tellShadow(this.#number, event));
      this.#instance.syncTimer();
    } catch (bug) {
      this.#break(bug);
    }
  }

  #follow(next: number): void {
    switch (next) {
      case ShadowNext.Source:
        void this.#runSource();
        break;
      case ShadowNext.Read:
        this.#read((found) => this.#gotFirst(found));
        break;
      case ShadowNext.Confirm:
        this.#read((found) => this.#gotAgain(found));
        break;
      case ShadowNext.Load:
        this.#fillOver();
        this.#load();
        break;
      case ShadowNext.Compare:
        this.#compare();
        break;
      case ShadowNext.Dump:
        this.#filling = true;
        this.#instance.writeBegun();
        void this.#dump();
        break;
      case ShadowNext.Fill:
        void this.#fill();
        break;
      default:
        if (next >= ShadowNext.Done) this.#over(SHADOW_OUTCOMES[next - ShadowNext.Done] as ShadowValidationOutcome);
    }
  }

  async #runSource(): Promise<void> {
    const { fn, self, args } = this.#call as Call;
    this.#call = undefined;
    let event = ShadowEvent.SourceOk;
    try {
      this.#source = await Reflect.apply(fn, self, args);
    } catch {
      event = ShadowEvent.SourceFailed;
    }
    this.#tell(event);
  }

  /** @param settled - Told what was found, or undefined for a failure. */
  #read(settled: (found: Found | undefined) => void): void {
    const { recorder } = this.#useCase;
    const since = recorder.observed ? this.#instance.now() : 0;
    const over = (found: Found | undefined): void => {
      this.#clientRead = undefined;
      if (recorder.observed) recorder.got("remote_shadow", this.#secondsSince(since));
      if (found?.passage !== undefined) recorder.opened(found.passage, "remote_shadow");
      settled(found);
    };
    // One that was given up keeps its place until the client has done with it.
    const gone = (): void => this.#tell(ShadowEvent.ReadFailed);
    this.#clientRead = readForShadow(this.#requester(), over, gone);
  }

  #gotFirst(found: Found | undefined): void {
    this.#payload = found?.payload;
    this.#createdAtMs = found?.createdAtMs;
    if (found === undefined) this.#tell(ShadowEvent.ReadFailed);
    else this.#tell(found === null ? ShadowEvent.Miss : ShadowEvent.Hit);
  }

  #gotAgain(found: Found | undefined): void {
    if (found === undefined) this.#tell(ShadowEvent.ReadFailed);
    else this.#tell(samePayload(found?.payload, this.#payload) ? ShadowEvent.Same : ShadowEvent.Changed);
  }

  #load(): void {
    const { recorder, serializer } = this.#useCase;
    const since = recorder.observed ? this.#instance.now() : 0;
    const over = (event: ShadowEvent, value?: unknown): void => {
      if (recorder.observed) recorder.serialized("load", this.#secondsSince(since), "remote_shadow");
      this.#cached = value;
      this.#tell(event);
    };
    let value: unknown;
    try {
      // The serializer may change or hand through what it is given, and the bytes are compared once more.
      value = serializer.load(copyOf(this.#payload as RedisCachePayload));
      if (isThenable(value)) {
        adopt(value).then(
          (loaded) => over(ShadowEvent.Loaded, loaded),
          () => over(ShadowEvent.LoadFailed),
        );
        return;
      }
    } catch {
      over(ShadowEvent.LoadFailed);
      return;
    }
    over(ShadowEvent.Loaded, value);
  }

  #compare(): void {
    const cached = this.#cached;
    const source = this.#source;
    this.#cached = undefined;
    this.#source = undefined;
    const event = compare(this.#useCase.shadowComparator, cached, source);
    if (this.#createdAtMs !== undefined) {
      // Clocks of two machines: a negative age is none.
      this.#ageSeconds = Math.max(0, this.#instance.wallNow() - this.#createdAtMs) / MS_PER_SECOND;
    }
    if (event === ShadowEvent.Different && this.#about().logMismatches) {
      this.#differing = { cached: clippedJson(cached), source: clippedJson(source) };
    }
    this.#tell(event);
  }

  async #dump(): Promise<void> {
    const { recorder, serializer } = this.#useCase;
    const since = recorder.observed ? this.#instance.now() : 0;
    try {
      this.#dumped = checkedPayload(await (serializer as Serializer<unknown>).dump(this.#source));
      if (recorder.observed) {
        recorder.serialized("dump", this.#secondsSince(since), "remote_shadow");
        recorder.size(Buffer.byteLength(this.#dumped), "remote_shadow");
      }
    } catch {
      this.#dumped = undefined;
      this.#fillError = "serialization_dump";
    }
    this.#tell(this.#dumped === undefined ? ShadowEvent.DumpFailed : ShadowEvent.Dumped);
  }

  async #fill(): Promise<void> {
    this.#writing = true;
    const stored = await writeForShadow(this.#requester(), this.#dumped as string | Uint8Array);
    if (stored === undefined) this.#tell(ShadowEvent.FillFailed);
    else this.#tell(stored ? ShadowEvent.Stored : ShadowEvent.Fenced);
    this.#fillOver();
  }

  #fillOver(): void {
    if (!this.#filling) return;
    this.#filling = false;
    this.#instance.writeEnded();
  }

  #over(outcome: ShadowValidationOutcome): void {
    const { recorder } = this.#useCase;
    this.#clientRead?.abort(this.#abortReason());
    if (!this.#writing) this.#fillOver();
    this.#release();
    const error = outcome === "fill_error" ? this.#fillError : ERRORS[outcome];
    if (error !== undefined) recorder.error("remote_shadow", error);
    const compared = outcome === "match" || outcome === "mismatch";
    recorder.shadowed(outcome, compared ? this.#ageSeconds : undefined);
    if (outcome === "mismatch" && this.#differing !== undefined) {
      recorder.mismatched({ cacheKey: clippedKey(this.#about().logicalKey), ...this.#differing });
    }
  }

  #abortReason(): Error {
    const { name, readTimeoutMs } = this.#useCase;
    if (this.#instance.closed) return new DialCacheClosedError();
    return stackless(() => new RedisReadTimeoutError(name, readTimeoutMs));
  }

  /** What goes on keeps the job's place, and none of its values. */
  #release(): void {
    this.#instance.shadows.delete(this.#number);
    this.#clientRead = undefined;
    this.#call = undefined;
    this.#payload = undefined;
    this.#cached = undefined;
    this.#source = undefined;
    this.#dumped = undefined;
  }

  #break(bug: unknown): void {
    const { recorder } = this.#useCase;
    this.#broken = true;
    this.#instance.engine.forgetShadow(this.#number);
    this.#fillOver();
    this.#release();
    recorder.error("remote_shadow", "unknown");
    recorder.warn("a bug ended a shadow validation; please report it", bug);
  }

  /** Asked for no earlier than needed: not while the caller waits, but before the engine has forgotten the job. */
  #about(): ShadowFacts {
    this.#facts ??= this.#instance.engine.shadowFacts(this.#number) as ShadowFacts;
    return this.#facts;
  }

  #requester(): Requester {
    return { useCase: this.#useCase, remote: this.#remote, number: this.#number, facts: this.#about() };
  }

  #secondsSince(since: number): number {
    return (this.#instance.now() - since) / MS_PER_SECOND;
  }
}

function compare(comparator: UseCase["shadowComparator"], cached: unknown, source: unknown): ShadowEvent {
  try {
    const equal: unknown = (comparator ?? isDeepStrictEqual)(cached, source);
    if (equal === true) return ShadowEvent.Equal;
    if (equal === false) return ShadowEvent.Different;
    // A comparator that is asynchronous by mistake: how it ends is nobody's business.
    if (isThenable(equal)) adopt(equal).then(nothing, nothing);
  } catch {
    // As good as no answer.
  }
  return ShadowEvent.CompareFailed;
}

function nothing(): void {}
