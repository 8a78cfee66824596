/**
 * The preferences of a request (RFC 7240): lower-case names with their values, empty where none is given. The first of
 * equal names counts. Routes ignore unknown names.
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

/** A name with an optional value. Parameters after it are ignored; no preference here has any. */
const PREFERENCE = /(?:^|,)\s*([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?[^,"]*/g;
