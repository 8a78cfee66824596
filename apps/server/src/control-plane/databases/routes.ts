import type { Database } from "../../database/pool.ts";
import type { ControlRoutes } from "../../http/checked-route.ts";
import { findDatabase, listDatabases } from "./store.ts";

export function addDatabaseRoutes(routes: ControlRoutes, { db }: { readonly db: Database }): void {
  routes.add("databaseList", async ({ org, query }) => listDatabases(db, org, query));
  routes.add("databaseShow", async ({ org, params }) => findDatabase(db, org, params.db));
}
