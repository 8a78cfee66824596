/** Which lines of a service's log are wanted. */
export interface LogFilter {
  /** In lower case. */
  readonly search: string | undefined;
  /** The path of a request: `/docs`. */
  readonly route: string | undefined;
  readonly request_id: string | undefined;
  readonly has_health: boolean;
}

const HEALTH_PATH = "/health";

/**
 * Whether a line is wanted. What concerns a request has its fields as JSON behind its words: `req`, and `path` in the one line that says how
 * it was answered.
 */
export function wantsLine(line: string, { has_health, request_id, route, search }: LogFilter): boolean {
  if (search !== undefined && !line.toLowerCase().includes(search)) return false;
  if (has_health && route === undefined && request_id === undefined) return true;
  const { path, req } = readFields(line);
  if (!has_health && path === HEALTH_PATH && route !== HEALTH_PATH) return false;
  if (route !== undefined && path !== route) return false;
  return request_id === undefined || req === request_id;
}

function readFields(line: string): { readonly path?: unknown; readonly req?: unknown } {
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
