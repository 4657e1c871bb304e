import { HttpStatusError } from "./errors";
import { ignoreOutcome } from "./guard";
import { callback, invalid, optionNames, type Place, readOptions, refuse } from "./option-reader";
import type { Awaitable } from "./serializer";
import { sourceOf } from "./source";
import { type Inspector, SourceCore } from "./source-core";
import { resolveSource, SOURCE_NAMES, statusesOption } from "./source-options";
import type { Source, SourceContext, SourcePolicies } from "./source-types";

/** What `fetch` takes as headers. */
export type HttpHeaders = NonNullable<RequestInit["headers"]>;

/** What `fetch` takes as a body. */
export type HttpBody = NonNullable<RequestInit["body"]>;

/** Options of `httpSource()`. */
// biome-ignore lint/suspicious/noExplicitAny: as for SourceFunction
export interface HttpSourceOptions<Args extends any[]> extends SourcePolicies {
  /** Where the service can be reached, in order of preference: `http:` or `https:` URLs, with a path or without one. */
  readonly endpoints: readonly (string | URL)[];
  /** Default `GET`. GET and HEAD are idempotent; others are when `idempotent` says so. */
  readonly method?: string | undefined;
  /** Is put after an endpoint's URL, with its query: the same for each call, or made of its arguments. Default: nothing. */
  readonly path?: string | ((...args: Args) => string) | undefined;
  /** The same for each call, or made of its arguments, anew for each attempt. Default: none. */
  readonly headers?: HttpHeaders | ((...args: Args) => Awaitable<HttpHeaders>) | undefined;
  /**
   * The same for each call, or made of its arguments, anew for each attempt. A stream can be sent once: only the function
   * may answer one, and only when the source is not `idempotent`. Default: none.
   */
  readonly body?: HttpBody | ((...args: Args) => Awaitable<HttpBody | null | undefined>) | undefined;
  /**
   * Called with each attempt's request before it is sent, for what is bound to time or place, such as a signature. May
   * change its headers, or answer another request. The attempt's signal is put in the place of that request's own.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement is one of these
  readonly beforeSend?: ((request: Request, ctx: SourceContext) => Awaitable<Request | undefined | void>) | undefined;
  /** Same as `failover.failOnStatuses`, which is before it. */
  readonly failOnStatuses?: readonly number[] | undefined;
}

const PLACE: Place = { api: "httpSource()", path: "" };
const OPTIONS = optionNames(
  "endpoints",
  "method",
  "path",
  "headers",
  "body",
  "beforeSend",
  "failOnStatuses",
  ...SOURCE_NAMES,
);
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** RFC 9110, section 5.6.2: a token. */
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** What requests are made of. */
interface Template {
  readonly method: string;
  readonly path: string | ((...args: unknown[]) => string);
  readonly headers: HttpHeaders | ((...args: unknown[]) => Awaitable<HttpHeaders>) | undefined;
  readonly body: HttpBody | ((...args: unknown[]) => Awaitable<HttpBody | null | undefined>) | undefined;
  readonly beforeSend: HttpSourceOptions<never>["beforeSend"];
  readonly idempotent: boolean;
}

/**
 * A source over the global `fetch`. The first attempt to get headers wins, and its Response is what a call gets, whose body
 * is then the caller's: neither the timeout nor the signal of the call bounds its reading. Losers' connections are closed.
 *
 * An answer with one of `failOnStatuses` is a transient failure, with a {@link HttpStatusError}; its body is not read.
 * Other answers are results, whatever their status.
 * @throws TypeError or RangeError naming a bad option; never a URL.
 */
// biome-ignore lint/suspicious/noExplicitAny: as for SourceFunction
export function httpSource<Args extends any[] = []>(options: HttpSourceOptions<Args>): Source<Args, Response> {
  const read = readOptions(options, PLACE, OPTIONS);
  const { method: givenMethod, path, headers, body, beforeSend, failOnStatuses } = read;
  const endpoints = endpointsOption(read.endpoints);
  const method = methodOption(givenMethod);
  const idempotent = read.idempotent === undefined ? SAFE_METHODS.has(method) : read.idempotent;
  const resolved = resolveSource({ ...read, idempotent }, PLACE);
  const statuses = failOnStatuses === undefined ? undefined : statusesOption(failOnStatuses, PLACE);
  const template: Template = {
    method,
    path: pathOption(path),
    headers: headers as Template["headers"],
    body: bodyOption(body),
    beforeSend: beforeSend === undefined ? undefined : callback(beforeSend, PLACE, "beforeSend"),
    idempotent: resolved.idempotent,
  };
  const fns = endpoints.map(
    (endpoint) =>
      (ctx: SourceContext, ...args: unknown[]) =>
        send(template, endpoint, ctx, args),
  );
  const withStatuses = { ...resolved, failOnStatuses: resolved.failOnStatuses ?? statuses };
  return sourceOf(new SourceCore(fns, withStatuses, PLACE, inspector(resolved.name)));
}

async function send(template: Template, endpoint: string, ctx: SourceContext, args: unknown[]): Promise<Response> {
  const { signal } = ctx;
  const { method, beforeSend } = template;
  const url = endpoint + pathOf(template, args);
  const [headers, body] = await Promise.all([made(template.headers, args), made(template.body, args)]);
  const init: RequestInit & { duplex?: "half" } = { method };
  if (headers !== undefined) init.headers = headers;
  if (body !== undefined && body !== null) init.body = body;
  if (isOneShot(body)) {
    if (template.idempotent) {
      const message = "body is a stream, which can be sent once: the source must not be idempotent";
      throw invalid(TypeError, PLACE, "body", message);
    }
    init.duplex = "half";
  }
  if (beforeSend === undefined) return await fetch(url, { ...init, signal });
  const request = new Request(url, init);
  return await fetch((await beforeSend(request, ctx)) ?? request, { signal });
}

/** Never throws: what was made beside it would reject with nobody there. */
async function made<T>(given: T | ((...args: unknown[]) => Awaitable<T>), args: unknown[]): Promise<T> {
  return typeof given === "function" ? await (given as (...args: unknown[]) => Awaitable<T>)(...args) : given;
}

function pathOf({ path }: Template, args: unknown[]): string {
  const text = typeof path === "function" ? path(...args) : path;
  if (typeof text !== "string") {
    ignoreOutcome(text);
    throw invalid(TypeError, PLACE, "path", `path must answer a string, got ${typeof text}`);
  }
  // After a slash it cannot become part of the host.
  return text === "" || text.startsWith("/") || text.startsWith("?") ? text : `/${text}`;
}

function inspector(name: string): Inspector {
  return {
    refusal: (value, endpoint, failOnStatuses) => {
      const { status } = Object(value) as Response;
      return failOnStatuses.has(status) ? new HttpStatusError(name, endpoint, status) : undefined;
    },
    discard: (value) => {
      try {
        const body = (Object(value) as Response).body ?? undefined;
        // Without this, its connection waits for a reader that never comes.
        if (body?.locked === false) ignoreOutcome(body.cancel());
      } catch {
        // The global `fetch` may be anyone's, and so may its answer.
      }
    },
  };
}

/** Whether sending it uses it up. */
function isOneShot(body: unknown): boolean {
  return typeof body === "object" && body !== null && (body instanceof ReadableStream || Symbol.asyncIterator in body);
}

function endpointsOption(value: unknown): string[] {
  if (!Array.isArray(value)) throw refuse(value, PLACE, "endpoints", "object", "an array of URLs");
  if (value.length === 0) throw invalid(RangeError, PLACE, "endpoints", "endpoints must have at least one, got none");
  return value.map((endpoint: unknown, at) => {
    const option = `endpoints[${at}]`;
    const refused = (rule: string): Error => invalid(RangeError, PLACE, option, `${option} must be ${rule}`);
    if (typeof endpoint !== "string" && !(endpoint instanceof URL))
      throw refuse(endpoint, PLACE, option, "object", "a URL");
    const url = URL.canParse(String(endpoint)) ? new URL(endpoint) : undefined;
    if (url?.protocol !== "http:" && url?.protocol !== "https:") throw refused("an http: or https: URL");
    // Not quoted: it may hold a password.
    if (url.username !== "" || url.password !== "")
      throw refused("a URL without credentials; they belong into headers");
    if (url.search !== "" || url.hash !== "") throw refused("a URL without a query or fragment");
    return url.href.replace(/\/+$/, "");
  });
}

function methodOption(value: unknown): string {
  if (value === undefined) return "GET";
  if (typeof value === "string" && METHOD.test(value)) return value.toUpperCase();
  throw refuse(value, PLACE, "method", "string", "the name of an HTTP method");
}

function pathOption(value: unknown): Template["path"] {
  if (value === undefined) return "";
  if (typeof value === "string" || typeof value === "function") return value as Template["path"];
  throw refuse(value, PLACE, "path", "string", "a string or a function");
}

function bodyOption(value: unknown): Template["body"] {
  if (typeof value !== "function" && isOneShot(value)) {
    const message = "body must not be a stream, which can be sent once: give a function that makes one for each call";
    throw invalid(TypeError, PLACE, "body", message);
  }
  return value as Template["body"];
}
