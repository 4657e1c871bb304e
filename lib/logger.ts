import { callGuarded } from "./guard";

/**
 * Where failures that callers never see are reported. `console` fits, and so do pino, winston and bunyan. A throw or
 * rejection is ignored.
 */
export interface Logger {
  /** Not called in this version. */
  debug(message: string, ...details: unknown[]): void;
  /** A failure that was survived: what happened, and the error. */
  warn(message: string, ...details: unknown[]): void;
  /** Not called in this version. */
  error(message: string, ...details: unknown[]): void;
}

/**
 * Wraps `logger` so that neither a throw nor a rejection of it reaches the caller.
 * @param logger - `undefined` is `console`, `null` is silence.
 */
export function guardLogger(logger: Logger | null | undefined): Logger {
  if (logger === null) return silent;
  const target = logger ?? console;
  return {
    debug: (...args) => callGuarded(target, "debug", args),
    warn: (...args) => callGuarded(target, "warn", args),
    error: (...args) => callGuarded(target, "error", args),
  };
}

const nothing = (): void => {};
const silent: Logger = Object.freeze({ debug: nothing, warn: nothing, error: nothing });
