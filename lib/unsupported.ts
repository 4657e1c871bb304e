import { invalid, type Place } from "./option-reader";

/**
 * Refuses an option that has its name already but not yet its behaviour: ignoring it would be worse than not having it.
 * Every such option is refused through here, so the callers of this function are the list of what is missing.
 */
export function refuseUnsupported(place: Place, name: string): never {
  const option = place.path + name;
  throw invalid(TypeError, place, option, `${option} is not available in this version`);
}
