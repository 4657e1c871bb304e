/**
 * Makes an error without a stack trace, which costs more than everything else about a read that timed out. For errors
 * that are made where no frame of the caller is left: the trace would show this package's own continuation only.
 */
export function stackless<E extends Error>(make: () => E): E {
  const limit = Error.stackTraceLimit;
  // A host that froze its globals gets its traces.
  if (!Reflect.set(Error, "stackTraceLimit", 0)) return make();
  try {
    return make();
  } finally {
    Error.stackTraceLimit = limit;
  }
}
