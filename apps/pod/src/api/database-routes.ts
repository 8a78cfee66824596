import { databaseDeleteRequestSchema } from "@appdb/contract/routes/local";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import type { FastifyInstance } from "fastify";
import type { DaemonDeps } from "../composition/compose.ts";
import { deleteLocalDatabase, listLocalDatabases } from "../services/local-databases.ts";
import { parseRequest } from "./parse.ts";

/** The databases of the home as a whole. */
export function addDatabaseRoutes(app: FastifyInstance, deps: DaemonDeps): void {
  app.get(LOCAL_ROUTES.databaseList.path, async () => ({ databases: await listLocalDatabases(deps) }));
  app.post(LOCAL_ROUTES.databaseDelete.path, async (request) => {
    return await deleteLocalDatabase(deps, parseRequest(databaseDeleteRequestSchema, request.body));
  });
}
