import { parseLocalTarget } from "@appdb/contract/names";
import {
  appSchema,
  schemaApplyRequestSchema,
  schemaPlanRequestSchema,
  schemaPruneRequestSchema,
} from "@appdb/contract/routes/local";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import type { Runtime } from "@appdb/contract/runtime";
import type { FastifyInstance } from "fastify";
import type { DaemonDeps } from "../composition/compose.ts";
import { applyTarget, openTarget, planForPerson, pruneTarget } from "../databases/schema.ts";
import { answerEvents, endOf } from "./events.ts";
import { parseRequest } from "./parse.ts";

export function addSchemaRoutes(app: FastifyInstance, deps: DaemonDeps): void {
  app.post(LOCAL_ROUTES.schemaPlan.path, async (request, reply) => {
    const input = parseRequest(schemaPlanRequestSchema, request.body);
    return { plan: await planForPerson(deps, { ...placed(input), ...projectOf(input.runtime) }, endOf(reply)) };
  });
  app.post(LOCAL_ROUTES.schemaPrune.path, async (request) => {
    const input = parseRequest(schemaPruneRequestSchema, request.body);
    return { plan: await pruneTarget(deps, placed(input)) };
  });
  app.post(LOCAL_ROUTES.schemaApply.path, async (request, reply) => {
    const input = parseRequest(schemaApplyRequestSchema, request.body);
    await answerEvents(deps, request, reply, async (emit, signal) => ({
      plan: await applyTarget(deps, { ...placed(input), ...projectOf(input.runtime) }, emit, signal),
    }));
  });
  app.post(LOCAL_ROUTES.openTarget.path, async (request) => {
    const input = parseRequest(appSchema, request.body);
    return await openTarget(deps, placed(input));
  });
}

function projectOf(runtime: Runtime | null): { project_root?: string } {
  return runtime === null ? {} : { project_root: runtime.project_root };
}

/** The request with its target parsed. @throws invalid_target */
function placed<T extends { readonly target: string }>(input: T) {
  return { ...input, target: parseLocalTarget(input.target) };
}
