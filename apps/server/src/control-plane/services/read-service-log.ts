import type { LogLine } from "@appdb/contract/routes/control-databases";
import type { hostedServiceLogsQuerySchema } from "@appdb/contract/routes/control-services";
import type { PodAccess, PodLog } from "@appdb/pods/driver/pod-driver";
import type * as z from "zod";
import { type LogFilter, wantsLine } from "./filter-log.ts";

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
