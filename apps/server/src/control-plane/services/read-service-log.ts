import type { LogLine } from "@appdb/contract/routes/control-databases";
import type { hostedServiceLogsQuerySchema } from "@appdb/contract/routes/control-services";
import type { PodAccess, PodLog } from "@appdb/pods/driver/pod-driver";
import type * as z from "zod";

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

export type ServiceLogQuery = z.output<typeof hostedServiceLogsQuerySchema>;

/** Maximum lines searched for matches. */
const MAX_LOOKED_AT = 50_000;
const LOOKED_AT_EACH = 10;

/** The matching lines of all instances of a service, then new ones with `follow`. Ends when the signal aborts. */
export async function* readServiceLog(
  { logs }: Pick<PodAccess, "logs">,
  log: PodLog,
  query: ServiceLogQuery,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const filter = toFilter(query);
  const isNarrow = query.search !== undefined || query.route !== undefined || query.request_id !== undefined;
  const tail = isNarrow ? MAX_LOOKED_AT : Math.min(MAX_LOOKED_AT, query.tail * LOOKED_AT_EACH);
  const since = query.since_s === undefined ? {} : { since: new Date(Date.now() - query.since_s * 1_000) };
  const input = { tail, ...since, signal };
  let found = 0;
  for await (const { line } of logs(log, { ...input, follow: false })) if (wantsLine(line, filter)) found++;
  // lines that arrive between the two reads are the last ones, so none is skipped
  let passedOver = Math.max(0, found - query.tail);
  for await (const line of logs(log, { ...input, follow: query.follow === "1" })) {
    if (!wantsLine(line.line, filter)) continue;
    if (passedOver > 0) passedOver--;
    else yield { number: 0, ...line };
  }
}

function toFilter({ include_health: includeHealth, request_id: requestId, route, search }: ServiceLogQuery): LogFilter {
  return { search: search?.toLowerCase(), route, request_id: requestId, has_health: includeHealth === "1" };
}
