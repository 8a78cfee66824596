import type { Socket } from "node:net";
import {
  appSchema,
  schemaApplyRequestSchema,
  schemaPlanRequestSchema,
  schemaPruneRequestSchema,
} from "@appdb/contract/routes/local";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import type { FastifyInstance } from "fastify";
import type { DaemonDeps } from "../compose.ts";
import { applyTarget, openTarget, planForPerson, pruneTarget } from "../databases/schema.ts";
import { answerEvents } from "./events.ts";
import { parseRequest } from "./parse.ts";

export function addSchemaRoutes(app: FastifyInstance, deps: DaemonDeps): void {
  app.post(LOCAL_ROUTES.schemaPlan.path, async (request) => {
    const input = parseRequest(schemaPlanRequestSchema, request.body);
    return { plan: await planForPerson(deps, input, endOf(request.raw.socket)) };
  });
  app.post(LOCAL_ROUTES.schemaPrune.path, async (request) => {
    const input = parseRequest(schemaPruneRequestSchema, request.body);
    return { plan: await pruneTarget(deps, input) };
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

/** Aborts when the caller is gone: nobody would see the sample. */
function endOf(socket: Socket): AbortSignal {
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  return gone.signal;
}
