/** Longest timer Node can hold, in milliseconds (24.8 days). */
export const MAX_TIMEOUT_MS = 2_147_483_647;

/** Names an options object may have. */
interface OptionNames<Name extends string> {
  readonly list: readonly Name[];
  readonly set: ReadonlySet<string>;
}

export function optionNames<const Name extends string>(...list: Name[]): OptionNames<Name> {
  return { list, set: new Set(list) };
}

/** Where an option stands, for messages: the API, then the path of the object it is in. */
export interface Place {
  /** API the options were given to, such as `new DialCache()`. */
  readonly api: string;
  /** Path of the object inside the options, with its dot: `redis.`; empty at the top. */
  readonly path: string;
}

export function inside(place: Place, name: string): Place {
  return { api: place.api, path: `${place.path}${name}.` };
}

/**
 * `input` itself, once it is an object without unknown names. Callers destructure the answer: every option is read
 * exactly once, so getters run once and a later change of the object changes nothing.
 * @throws TypeError when `input` is not an object, or has a name that is not known.
 */
export function readOptions<Name extends string>(
  input: unknown,
  place: Place,
  names: OptionNames<Name>,
): Readonly<Record<Name, unknown>> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    const what = place.path === "" ? "options" : place.path.slice(0, -1);
    throw invalid(TypeError, place, what, `${what} must be an object, got ${renderWrong(input)}`);
  }
  for (const name of Object.keys(input)) {
    if (!names.set.has(name)) throw unknownOption(place, name, names.list);
  }
  return input as Readonly<Record<Name, unknown>>;
}

function unknownOption(place: Place, name: string, known: readonly string[]): TypeError {
  const nearest = nearestName(name, known);
  const hint =
    nearest === undefined ? `known are ${known.join(", ")}` : `did you mean ${JSON.stringify(place.path + nearest)}?`;
  const path = place.path + clip(name);
  return invalid(TypeError, place, path, `unknown option ${JSON.stringify(path)}; ${hint}`);
}

/** An error of the given class with the message, `code` and `option` every refused option has. */
export function invalid<E extends Error>(
  errorClass: new (message: string) => E,
  place: Place,
  option: string,
  message: string,
): E {
  const error = new errorClass(`${place.api}: ${message}`);
  return Object.assign(error, { code: "DIALCACHE_INVALID_OPTION", option });
}

/** TypeError for a value of the wrong type, RangeError for one of the right type that is not allowed. */
export function refuse(value: unknown, place: Place, name: string, type: string, rule: string): Error {
  const option = place.path + name;
  const errorClass = value !== null && typeof value === type ? RangeError : TypeError;
  const got = type === "object" || type === "function" ? renderWrong(value) : render(value);
  return invalid(errorClass, place, option, `${option} must be ${rule}, got ${got}`);
}

/** Like {@link refuse}, for values that may be a secret: at most their type is named. */
export function refuseSecret(value: unknown, place: Place, name: string, rule: string): Error {
  const option = place.path + name;
  if (typeof value === "string") return invalid(RangeError, place, option, `${option} must be ${rule}`);
  return invalid(TypeError, place, option, `${option} must be ${rule}, got ${kindOf(value)}`);
}

/** Default for what was left out; null was not left out, and is refused by the check that follows. */
export function undefinedOr(value: unknown, fallback: unknown): unknown {
  return value === undefined ? fallback : value;
}

export function integer(
  value: unknown,
  place: Place,
  name: string,
  { min, max = Number.MAX_SAFE_INTEGER, unit }: { min: number; max?: number; unit?: string },
): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw refuse(value, place, name, "number", `a whole number${unit === undefined ? "" : ` of ${unit}`} ${range}`);
}

/** Any number, for options whose range is checked where the rules are. */
export function number(value: unknown, place: Place, name: string): number {
  if (typeof value === "number") return value;
  throw refuse(value, place, name, "number", "a number");
}

/** One of a few names. */
export function oneOf<const Name extends string>(
  value: unknown,
  place: Place,
  name: string,
  known: readonly Name[],
): Name {
  if (known.includes(value as Name)) return value as Name;
  const rule = `one of ${known.map((one) => JSON.stringify(one)).join(", ")}`;
  throw refuse(value, place, name, "string", rule);
}

export function boolean(value: unknown, place: Place, name: string): boolean {
  if (typeof value === "boolean") return value;
  throw refuse(value, place, name, "boolean", "true or false");
}

/** A callback of the user; its own type is checked at compile time only. */
export function callback<F>(value: unknown, place: Place, name: string): F {
  if (typeof value === "function") return value as F;
  throw refuse(value, place, name, "function", "a function");
}

/** An object with the given methods, kept as it is: methods are looked up when they are called. */
export function withMethods<T>(value: unknown, place: Place, name: string, methods: readonly string[]): T {
  const usable = (typeof value === "object" && value !== null) || typeof value === "function";
  if (!usable) throw refuse(value, place, name, "object", `an object with ${methods.join(", ")}`);
  for (const method of methods) {
    if (typeof (value as Record<string, unknown>)[method] !== "function") {
      const option = place.path + name;
      throw invalid(TypeError, place, option, `${option} must have a method ${method}()`);
    }
  }
  return value as T;
}

/** A logger or metrics adapter: it may have more than we call and lack some of it, but not everything. */
export function observer<T>(value: unknown, place: Place, name: string, methods: readonly string[]): T {
  const usable = (typeof value === "object" && value !== null) || typeof value === "function";
  if (!usable) throw refuse(value, place, name, "object", `an object with ${methods.slice(0, 3).join(", ")}, ...`);
  const members = methods.map((method): [string, unknown] => [method, (value as Record<string, unknown>)[method]]);
  for (const [method, member] of members) {
    if (member === undefined || typeof member === "function") continue;
    const option = `${name}.${method}`;
    throw invalid(TypeError, place, option, `${option} must be a function`);
  }
  if (members.every(([, member]) => member === undefined)) {
    throw invalid(TypeError, place, name, `${name} has none of the methods ${methods.join(", ")}`);
  }
  return value as T;
}

/** A signal, of this realm or another. */
export function abortSignal(value: unknown, place: Place, name: string): AbortSignal {
  const signal = withMethods<AbortSignal>(value, place, name, ["addEventListener", "removeEventListener"]);
  if (typeof signal.aborted === "boolean") return signal;
  throw refuse(value, place, name, "object", "an AbortSignal");
}

/** A value as it may stand in a message: short, on one line, and without running code of its own. */
function render(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(clip(value));
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      return `${clip(String(value))}n`;
    case "boolean":
      return String(value);
    default:
      return kindOf(value);
  }
}

/** A value where an object or a function belongs: a string there may be a url with a password, or a key in PEM. */
function renderWrong(value: unknown): string {
  return typeof value === "string" ? "a string" : render(value);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > 64) return undefined;
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    const limit = Math.max(2, Math.floor(Math.max(name.length, candidate.length) / 3));
    if (distance <= limit && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein distance: insertions, deletions and replacements that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
