import { appSchema, schemaApplyRequestSchema, schemaPlanRequestSchema } from "@appdb/contract/routes/local";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import type { FastifyInstance } from "fastify";
import type { DaemonDeps } from "../compose.ts";
import { applyTarget, openTarget, planTarget } from "../databases/schema.ts";
import { answerEvents } from "./events.ts";
import { parseRequest } from "./parse.ts";

export function addSchemaRoutes(app: FastifyInstance, deps: DaemonDeps): void {
  app.post(LOCAL_ROUTES.schemaPlan.path, async (request) => {
    const input = parseRequest(schemaPlanRequestSchema, request.body);
    return { plan: await planTarget(deps, input) };
  });
  app.post(LOCAL_ROUTES.schemaApply.path, async (request, reply) => {
    const input = parseRequest(schemaApplyRequestSchema, request.body);
    await answerEvents(deps, request, reply, async (emit, signal) => ({
      plan: await applyTarget(deps, input, emit, signal),
    }));
  });
  app.post(LOCAL_ROUTES.openTarget.path, async (request) => {
    const input = parseRequest(appSchema, request.body);
    return await openTarget(deps, input);
  });
}
