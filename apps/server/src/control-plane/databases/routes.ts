import type { ServerConfig } from "../../config.ts";
import type { Database } from "../../database/pool.ts";
import type { ControlRoutes } from "../../http/checked-route.ts";
import type { RecordEvent } from "../events/event.ts";
import { deleteDatabase } from "./delete-database.ts";
import { type DatabaseVerb, requestChange } from "./request-change.ts";
import { findDatabase, listDatabases } from "./store.ts";

export interface DatabaseRouteDeps {
  readonly db: Database;
  readonly config: Pick<ServerConfig, "pods">;
  readonly recordEvent: RecordEvent;
}

const VERBS = {
  databaseBuildImage: "build_image",
  databaseStart: "start",
  databaseStop: "stop",
  databaseRestart: "restart",
  databaseRetry: "retry",
  databaseUndelete: "undelete",
} as const satisfies Record<string, DatabaseVerb>;

export function addDatabaseRoutes(routes: ControlRoutes, deps: DatabaseRouteDeps): void {
  const { db, recordEvent } = deps;
  const { undelete_days } = deps.config.pods;
  routes.add("databaseList", async ({ org, query }) => listDatabases(db, org, query));
  routes.add("databaseShow", async ({ org, params }) => findDatabase(db, org, params.db));
  for (const [name, verb] of Object.entries(VERBS) as [keyof typeof VERBS, DatabaseVerb][]) {
    routes.change(name, async (call, tx) => requestChange({ tx, recordEvent }, call, call.params.db, verb));
  }
  routes.change("databaseDelete", async (call, tx) =>
    deleteDatabase({ tx, recordEvent, undelete_days }, call, { name: call.params.db, is_now: call.query.now === "1" }),
  );
}
