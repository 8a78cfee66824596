/** Selects lines of a service's log. */
export interface LogFilter {
  /** In lower case. */
  readonly search: string | undefined;
  /** As `service list` prints it: `/docs`, `/docs/{id}`. */
  readonly route: string | undefined;
  readonly request_id: string | undefined;
  readonly has_health: boolean;
}

/** A path parameter, as in routes. The pod's server writes `:id`. */
const PART = /\{(\w+)\}/g;

/**
 * Whether a line matches the filter. Lines about a request end with fields in JSON: `req`, and in its final line
 * `route`. Health checks also have `health`.
 */
export function wantsLine(
  line: string,
  { has_health: hasHealth, request_id: requestId, route, search }: LogFilter,
): boolean {
  if (search !== undefined && !line.toLowerCase().includes(search)) return false;
  if (hasHealth && route === undefined && requestId === undefined) return true;
  const fields = readFields(line);
  if (route !== undefined) return fields.route === route.replaceAll(PART, ":$1") && isRequested(fields.req, requestId);
  return (hasHealth || fields.health !== true) && isRequested(fields.req, requestId);
}

function isRequested(req: unknown, requestId: string | undefined): boolean {
  return requestId === undefined || req === requestId;
}

function readFields(line: string): { readonly [name in "route" | "req" | "health"]?: unknown } {
  const start = line.indexOf(" {");
  if (start < 0 || !line.endsWith("}")) return {};
  try {
    const fields: unknown = JSON.parse(line.slice(start + 1));
    return typeof fields === "object" && fields !== null ? fields : {};
  } catch {
    // the application printed text that only looks like fields
    return {};
  }
}
