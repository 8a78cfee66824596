import { parseLocalTarget } from "@appdb/contract/names";
import {
  serviceApplyRequestSchema,
  servicePlanRequestSchema,
  servicePruneRequestSchema,
} from "@appdb/contract/routes/local";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import type { DaemonDeps } from "../composition/compose.ts";
import { planServiceUpdate, pruneServices, updateServices } from "../services/update-services.ts";
import { answerEvents } from "./events.ts";
import { parseRequest } from "./parse.ts";

const MOST_LINES = 100_000;

const nameSchema = z.strictObject({ name: z.string() });
const listQuerySchema = z.strictObject({ target: z.string().optional() });
const logsQuerySchema = z.strictObject({
  name: z.string(),
  tail: z.coerce.number().int().min(0).max(MOST_LINES).default(200),
  follow: z.enum(["0", "1"]).default("0"),
});

export function addServiceRoutes(app: FastifyInstance, deps: DaemonDeps): void {
  const { services } = deps;
  app.post(LOCAL_ROUTES.servicePlan.path, async (request) => {
    const input = parseRequest(servicePlanRequestSchema, request.body);
    return { plan: await planServiceUpdate(deps, input) };
  });
  app.post(LOCAL_ROUTES.serviceApply.path, async (request, reply) => {
    const input = parseRequest(serviceApplyRequestSchema, request.body);
    await answerEvents(deps, request, reply, async () => ({ plan: await updateServices(deps, input) }));
  });
  app.post(LOCAL_ROUTES.servicePrune.path, async (request) => {
    const input = parseRequest(servicePruneRequestSchema, request.body);
    return { plan: await pruneServices(deps, input) };
  });
  app.get(LOCAL_ROUTES.serviceList.path, async (request) => {
    const { target } = parseRequest(listQuerySchema, request.query);
    return { services: services.list(target === undefined ? undefined : parseLocalTarget(target).text) };
  });
  app.post(LOCAL_ROUTES.serviceRestart.path, async (request) => {
    const { name } = parseRequest(nameSchema, request.body);
    return await services.restart(services.resolve(name));
  });
  app.post(LOCAL_ROUTES.serviceStop.path, async (request) => {
    const { name } = parseRequest(nameSchema, request.body);
    return await services.stop(services.resolve(name));
  });
  app.get(LOCAL_ROUTES.serviceLogs.path, async (request, reply) => {
    const query = parseRequest(logsQuerySchema, request.query);
    const log = services.log(services.resolve(query.name));
    await answerEvents(deps, request, reply, async (emit, signal) => {
      for (const line of log.tail(query.tail)) emit({ event: "log", line });
      if (query.follow === "1" && !signal.aborted) {
        const unfollow = log.follow((line) => emit({ event: "log", line }));
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        unfollow();
      }
      return {};
    });
  });
}
