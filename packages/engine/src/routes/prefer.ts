/**
 * The preferences of a request (RFC 7240): names in lower case, with their values, which are empty where none is given. Of
 * a repeated name the first counts. What a route does not know it leaves alone.
 */
export function readPreferences(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ReadonlyMap<string, string> {
  const { prefer } = headers;
  const found = new Map<string, string>();
  if (prefer === undefined) return found;
  for (const [, name = "", quoted, word = ""] of String(prefer).matchAll(PREFERENCE)) {
    const known = name.toLowerCase();
    if (!found.has(known)) found.set(known, quoted?.replace(/\\(.)/g, "$1") ?? word);
  }
  return found;
}

/** A name, maybe with a value, and parameters behind it, which no preference of ours has. */
const PREFERENCE = /(?:^|,)\s*([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?[^,"]*/g;
