/** Values of a service's usual shape. */

/** An object whose JSON is `bytes` long, give or take a field. */
export function record(bytes, seed = 0) {
  const value = { id: seed, name: `user ${seed}`, active: true };
  const start = JSON.stringify(value).length;
  const text = (field) => `${String(seed * 31 + field).padStart(12, "0")}, a text of some length`;
  const fieldBytes = JSON.stringify({ field_0000: text(0) }).length - 1;
  const fields = Math.round((bytes - start) / fieldBytes);
  for (let field = 0; field < fields; field++) value[`field_${String(field).padStart(4, "0")}`] = text(field);
  return value;
}
