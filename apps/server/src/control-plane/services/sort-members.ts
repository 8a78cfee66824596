/** Sorts the members of all objects, so that equal values have equal texts. */
export function sortMembers<T>(value: T): T;
export function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => sortMembers<unknown>(item));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, sortMembers<unknown>(item)]));
}
