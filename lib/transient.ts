import { ignoreOutcome } from "./guard";

/** Codes of Node's sockets and resolver, and of undici, that say the connection failed rather than the request. */
const CONNECTION_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ENETRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** How far causes are followed: `fetch` hides the connection's error one below its own, others two or three. */
const DEPTH = 5;

/** Statuses that say an origin or its proxy is in trouble; 522 and 524 are Cloudflare's. */
export const FAIL_ON_STATUSES: readonly number[] = [500, 502, 503, 504, 522, 524];

/** Whether `error` says, by its code or a cause's, that a connection failed. @throws whatever reading it throws. */
export function isConnectionError(error: unknown): boolean {
  let at = error;
  for (let depth = 0; depth < DEPTH && typeof at === "object" && at !== null; depth++) {
    if (CONNECTION_CODES.has((at as { code?: unknown }).code)) return true;
    at = (at as { cause?: unknown }).cause;
  }
  return false;
}

/** The HTTP status that an error of the common clients carries. @throws whatever reading it throws. */
export function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { response } = error as { response?: unknown };
  return ownStatus(error) ?? (typeof response === "object" && response !== null ? ownStatus(response) : undefined);
}

function ownStatus(holder: object): number | undefined {
  const { status, statusCode } = holder as { status?: unknown; statusCode?: unknown };
  if (typeof status === "number") return status;
  return typeof statusCode === "number" ? statusCode : undefined;
}

/** Whether another attempt may not meet `error`. An error that cannot be looked at is fatal. */
export function isTransient(
  error: unknown,
  failOnStatuses: ReadonlySet<number>,
  own: ((error: unknown) => boolean) | undefined,
): boolean {
  try {
    if (own !== undefined) {
      const answer: unknown = own(error);
      ignoreOutcome(answer);
      return answer === true;
    }
    const status = statusOf(error);
    return (status !== undefined && failOnStatuses.has(status)) || isConnectionError(error);
  } catch {
    return false;
  }
}
