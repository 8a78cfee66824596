import { CLIENT_VERSION_HEADER } from "@appdb/contract/version";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { DaemonDeps } from "../composition/compose.ts";
import { addDaemonRoutes } from "./daemon-routes.ts";
import { addDatabaseRoutes } from "./database-routes.ts";
import { checkClientVersion, checkToken } from "./handshake.ts";
import { addJobRoutes } from "./job-routes.ts";
import { createJsonApi } from "./json-api.ts";
import { addQueryRoutes } from "./query-routes.ts";
import { addSchemaRoutes } from "./schema-routes.ts";
import { addServiceRoutes } from "./service-routes.ts";

/** The daemon's API (contract/routes/local.ts): every request shows the home's token and its version. */
export function createApi(deps: DaemonDeps): FastifyInstance {
  const authorize = ({ headers }: FastifyRequest) => {
    checkToken(headers.authorization, deps.token);
    checkClientVersion(header(headers[CLIENT_VERSION_HEADER]));
  };
  const app = createJsonApi({ log: deps.log, name: "daemon", close: "all", authorize });
  addDaemonRoutes(app, deps);
  addJobRoutes(app, deps);
  addSchemaRoutes(app, deps);
  addQueryRoutes(app, deps);
  addServiceRoutes(app, deps);
  addDatabaseRoutes(app, deps);
  return app;
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
