import { queryExplainRequestSchema } from "@appdb/contract/routes/local";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import type { FastifyInstance } from "fastify";
import type { DaemonDeps } from "../composition/compose.ts";
import { explainTarget } from "../databases/explain.ts";
import { parseRequest } from "./parse.ts";

export function addQueryRoutes(app: FastifyInstance, deps: DaemonDeps): void {
  app.post(LOCAL_ROUTES.queryExplain.path, async (request) => {
    return await explainTarget(deps, parseRequest(queryExplainRequestSchema, request.body));
  });
}
