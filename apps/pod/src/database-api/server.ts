import { appError } from "@appdb/contract/errors";
import type { FastifyInstance } from "fastify";
import { showsToken } from "../api/handshake.ts";
import { createJsonApi } from "../api/json-api.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { addPodRoutes } from "./pod-routes.ts";
import { addRoleRoutes } from "./role-routes.ts";
import { addRowRoutes } from "./row-routes.ts";
import { addSchemaRoutes } from "./schema-routes.ts";
import { addWorkRoutes } from "./work-routes.ts";

/** The API of a database pod (contract/routes/pod-paths.ts): every request shows the pod's token. */
export function createDatabaseApi(deps: DatabasePodDeps): FastifyInstance {
  const app = createJsonApi({
    log: deps.log,
    name: "pod",
    close: "idle",
    authorize: ({ headers }) => {
      if (showsToken(headers.authorization, deps.spec.token)) return;
      throw appError("unauthorized", { detail: "The request does not carry this pod's token." });
    },
  });
  addPodRoutes(app, deps);
  addSchemaRoutes(app, deps);
  addRowRoutes(app, deps);
  addWorkRoutes(app, deps);
  addRoleRoutes(app, deps);
  return app;
}
