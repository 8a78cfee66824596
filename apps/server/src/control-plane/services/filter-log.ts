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
export function wantsLine(line: string, { has_health, request_id, route, search }: LogFilter): boolean {
  if (search !== undefined && !line.toLowerCase().includes(search)) return false;
  if (has_health && route === undefined && request_id === undefined) return true;
  const fields = readFields(line);
  if (route !== undefined) return fields.route === route.replaceAll(PART, ":$1") && isAsked(fields.req, request_id);
  return (has_health || fields.health !== true) && isAsked(fields.req, request_id);
}

function isAsked(req: unknown, request_id: string | undefined): boolean {
  return request_id === undefined || req === request_id;
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
