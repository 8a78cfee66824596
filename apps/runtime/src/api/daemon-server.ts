import { LOCAL_API } from "@appdb/contract/routes/local-api";
import { CLIENT_VERSION_HEADER } from "@appdb/contract/version";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { DaemonDeps } from "../composition/compose.ts";
import { daemonHandlers } from "./daemon-routes.ts";
import { checkClientVersion, checkToken } from "./handshake.ts";
import { jobHandlers } from "./job-routes.ts";
import { createJsonApi, mountApi } from "./json-api.ts";
import { schemaHandlers } from "./schema-routes.ts";
import { serviceHandlers } from "./service-routes.ts";

/**
 * The daemon's API (contract/routes/local-api.ts). Every request must send the home's token and the client's version.
 */
export function createDaemonApi(deps: DaemonDeps): FastifyInstance {
  const authorize = ({ headers }: FastifyRequest) => {
    checkToken(headers.authorization, deps.token);
    checkClientVersion(header(headers[CLIENT_VERSION_HEADER]));
  };
  const app = createJsonApi({ log: deps.log, name: "daemon", close: "all", authorize });
  mountApi(app, deps, LOCAL_API, {
    ...daemonHandlers(app, deps),
    ...jobHandlers(deps),
    ...schemaHandlers(deps),
    ...serviceHandlers(deps),
  });
  return app;
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
