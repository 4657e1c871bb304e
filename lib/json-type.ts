/** `true` when `V` comes back from JSON as it went in, as far as its type can tell; a top-level `undefined` does. */
export type IsJsonCompatible<V> = unknown extends V
  ? false
  : [NonVoid<V>] extends [JsonForm<NonVoid<V>>]
    ? true
    : false;

// biome-ignore lint/suspicious/noConfusingVoidType: a function without a result has the type void, and yields undefined
type NonVoid<V> = Exclude<V, undefined | void>;

type JsonPrimitive = string | number | boolean | null;

/**
 * `T` with everything JSON cannot carry replaced by `never`, so that `T` is assignable to it only when nothing was. An
 * assignability check instead of a recursive condition, because it ends for types that contain themselves.
 */
type JsonForm<T> = unknown extends T
  ? never
  : T extends JsonPrimitive
    ? T
    : T extends bigint | symbol | ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)
      ? never
      : T extends readonly (infer Element)[]
        ? MayBeUndefined<Element> extends true
          ? never
          : JsonArray<Element>
        : IsOpaque<T> extends true
          ? never
          : { [Key in keyof T]: JsonMember<T, Key> };

/** An interface, because the compiler looks into one only when it has to: an alias of itself would never end. */
interface JsonArray<Element> extends ReadonlyArray<JsonForm<Element>> {}

/** An optional member may be missing; a required one that may be `undefined` would come back missing. */
type JsonMember<T, Key extends keyof T> =
  // biome-ignore lint/complexity/noBannedTypes: `{}` is assignable to a pick of optional members only
  {} extends Pick<T, Key>
    ? JsonForm<Exclude<T[Key], undefined>> | undefined
    : MayBeUndefined<T[Key]> extends true
      ? never
      : JsonForm<T[Key]>;

/** Without `strictNullChecks` everything may be, and nothing says so: then the question is not asked. */
type MayBeUndefined<T> = undefined extends string ? false : undefined extends T ? true : false;

/** Whether `T` is the type `object`, which says nothing about what is inside. */
type IsOpaque<T> = (<X>() => X extends T ? 1 : 2) extends <X>() => X extends object ? 1 : 2 ? true : false;
