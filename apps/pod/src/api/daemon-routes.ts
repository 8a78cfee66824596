import type { Health } from "@appdb/contract/routes/local";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import { VERSION } from "@appdb/contract/version";
import type { FastifyInstance } from "fastify";
import type { DaemonDeps } from "../composition/compose.ts";

/** Health and stop. Requests other than these count as being busy. */
export function addDaemonRoutes(app: FastifyInstance, deps: DaemonDeps): void {
  let requests = 0;
  app.addHook("onRequest", async (request, reply) => {
    if (request.url.startsWith(LOCAL_ROUTES.health.path) || request.url.startsWith(LOCAL_ROUTES.stop.path)) return;
    requests += 1;
    // also when the client went away before its answer
    reply.raw.once("close", () => {
      requests -= 1;
    });
  });
  app.get(LOCAL_ROUTES.health.path, async (): Promise<Health> => {
    const fills = await deps.databases.countFills();
    return {
      version: VERSION,
      pid: process.pid,
      home: deps.home,
      started_at: deps.started_at,
      postgres: deps.postgres.state(),
      busy: requests + fills + deps.services.countRunning(),
      services: deps.services.countRunning(),
    };
  });
  app.post(LOCAL_ROUTES.stop.path, async (_request, reply) => {
    // the answer leaves before the listener closes
    reply.raw.once("close", () => deps.requestStop());
    return {};
  });
}
