import type { Passage } from "./passage";
import { adopt, isThenable } from "./thenable";
import type { UseCase } from "./use-case";

const MS_PER_SECOND = 1_000;

/** What becomes of a payload. `observe` tells observers of the serializer's time; only if it matters any more. */
export interface Loading {
  loaded(value: unknown, observe: () => void): void;
  failed(error: unknown, observe: () => void): void;
  /** A bug in one of the two above. */
  broken(error: unknown): void;
}

/** Hands a payload from Redis to the serializer. Synchronously, if that is. */
export function load(useCase: UseCase, payload: string | Buffer, passage: Passage | undefined, then: Loading): void {
  const { recorder, serializer, instance } = useCase;
  if (passage !== undefined) recorder.opened(passage);
  const since = recorder.observed ? instance.now() : 0;
  const observe = (): void => {
    if (recorder.observed) recorder.serialized("load", (instance.now() - since) / MS_PER_SECOND);
  };
  let value: unknown;
  try {
    value = serializer.load(payload);
    if (isThenable(value)) {
      adopt(value)
        .then(
          (loaded) => then.loaded(loaded, observe),
          (error: unknown) => then.failed(error, observe),
        )
        .catch((bug: unknown) => then.broken(bug));
      return;
    }
  } catch (error) {
    then.failed(error, observe);
    return;
  }
  then.loaded(value, observe);
}
