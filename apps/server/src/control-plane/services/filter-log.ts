/** Which lines of a service's log are wanted. */
export interface LogFilter {
  /** In lower case. */
  readonly search: string | undefined;
  /** As `service list` prints it: `/docs`, `/docs/{id}`. */
  readonly route: string | undefined;
  readonly request_id: string | undefined;
  readonly has_health: boolean;
}

/** How a path names what stands there; the pod's server writes `:id`. */
const PART = /\{(\w+)\}/g;

/**
 * Whether a line is wanted. What concerns a request has its fields as JSON behind its words: `req`, and in the one line that says how it was
 * answered `route`, for checks of health `health` as well.
 */
export function wantsLine(
  line: string,
  { has_health: hasHealth, request_id: requestId, route, search }: LogFilter,
): boolean {
  if (search !== undefined && !line.toLowerCase().includes(search)) return false;
  if (hasHealth && route === undefined && requestId === undefined) return true;
  const fields = readFields(line);
  if (route !== undefined) return fields.route === route.replaceAll(PART, ":$1") && isAsked(fields.req, requestId);
  return (hasHealth || fields.health !== true) && isAsked(fields.req, requestId);
}

function isAsked(req: unknown, requestId: string | undefined): boolean {
  return requestId === undefined || req === requestId;
}

function readFields(line: string): { readonly [name in "route" | "req" | "health"]?: unknown } {
  const start = line.indexOf(" {");
  if (start < 0 || !line.endsWith("}")) return {};
  try {
    const fields: unknown = JSON.parse(line.slice(start + 1));
    return typeof fields === "object" && fields !== null ? fields : {};
  } catch {
    // an application printed something that only looks like fields
    return {};
  }
}
