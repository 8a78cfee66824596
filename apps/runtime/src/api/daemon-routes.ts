import type { LOCAL_API } from "@appdb/contract/routes/local-api";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import { VERSION } from "@appdb/contract/version";
import type { FastifyInstance } from "fastify";
import type { DaemonDeps } from "../composition/compose.ts";
import { deleteLocalDatabase, listLocalDatabases } from "../services/local-databases.ts";
import type { Handlers } from "./json-api.ts";

/** Health and stop, and operations on the home's databases. All requests except health and stop count as activity. */
export function daemonHandlers(
  app: FastifyInstance,
  deps: DaemonDeps,
): Pick<Handlers<typeof LOCAL_API>, "databaseDelete" | "databaseList" | "health" | "stop"> {
  let requests = 0;
  app.addHook("onRequest", async (request, reply) => {
    if (request.url.startsWith(LOCAL_ROUTES.health.path) || request.url.startsWith(LOCAL_ROUTES.stop.path)) return;
    requests += 1;
    // also when the client disconnects before its answer
    reply.raw.once("close", () => {
      requests -= 1;
    });
  });
  return {
    health: async () => {
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
    },
    stop: ({ reply }) => {
      // the answer is sent before the listener closes
      reply.raw.once("close", () => deps.requestStop());
      return {};
    },
    databaseList: async () => ({ databases: await listLocalDatabases(deps) }),
    databaseDelete: ({ body }) => deleteLocalDatabase(deps, body),
  };
}
