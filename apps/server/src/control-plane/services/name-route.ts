/** Finds the route of a request, `PUT /visits/{id}` for `PUT /visits/7`. Null if no route matches. */
export function createNameRoute(routes: readonly string[]): (label: string) => string | null {
  const exact = new Set(routes);
  const patterns = routes.flatMap((route) => (route.includes("{") ? [{ route, parts: readParts(route) }] : []));
  return (label) => {
    if (exact.has(label)) return label;
    return patterns.find(({ parts }) => fits(label, parts))?.route ?? null;
  };
}

/**
 * Whether a text has these parts in order, with non-empty text without a slash in between. Tenants control both, so no
 * regular expression is used: it could take hours. Each search starts where the previous part ended.
 */
function fits(text: string, parts: readonly string[]): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop() ?? "";
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at + 1);
    if (found === -1 || hasSlash(text, at, found)) return false;
    at = found + part.length;
  }
  const end = text.length - last.length;
  return end > at && !hasSlash(text, at, end);
}

function hasSlash(text: string, from: number, to: number): boolean {
  const slash = text.indexOf("/", from);
  return slash !== -1 && slash < to;
}

/** The constant parts of a route, around its parameters. */
function readParts(route: string): string[] {
  const parts: string[] = [];
  let at = 0;
  for (let open = route.indexOf("{"); open !== -1; open = route.indexOf("{", at)) {
    const close = route.indexOf("}", open);
    if (close === -1) break;
    parts.push(route.slice(at, open));
    at = close + 1;
  }
  return [...parts, route.slice(at)];
}
