import type { ControlRoutes } from "../../requests/checked-route.ts";
import type { LineStreams } from "../../requests/line-streams.ts";
import { findDatabase } from "../databases/databases-store.ts";
import { findOperation } from "../operations/operations-store.ts";
import { type LogDeps, readBuildLog, readDatabaseLog, readOperationLog } from "./read-logs.ts";

export interface LogRouteDeps extends LogDeps {
  readonly line_streams: LineStreams;
}

export function addLogRoutes(routes: ControlRoutes, deps: LogRouteDeps): void {
  const { db, line_streams: lineStreams } = deps;
  routes.add("databaseLogs", async ({ org, params, query, reply, request }) => {
    const { id } = await findDatabase(db, org, params.db);
    const input = { tail: query.tail, since_s: query.since_s, follow: query.follow === "1" };
    await lineStreams.serve(request, reply, (signal) =>
      query.source === "build" ? readBuildLog(deps, id, input, signal) : readDatabaseLog(deps, id, input, signal),
    );
  });
  routes.add("operationLog", async ({ org, params, query, reply, request }) => {
    const { id, org_id: orgId } = await findOperation(db, org.id, params.id);
    const input = { after: query.after, follow: query.follow === "1" };
    await lineStreams.serve(request, reply, (signal) => readOperationLog(deps, { id, org_id: orgId }, input, signal));
  });
}
