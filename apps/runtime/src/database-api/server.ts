import { appError } from "@appdb/contract/errors";
import { MEDIA_STORE_PATH } from "@appdb/contract/media-uri";
import { POD_API } from "@appdb/contract/routes/pod-api";
import type { FastifyInstance } from "fastify";
import { hasToken } from "../api/handshake.ts";
import { createJsonApi, mountApi } from "../api/json-api.ts";
import { psqlHandlers } from "../api/psql-routes.ts";
import { queryHandlers } from "../api/query-handlers.ts";
import { rowHandlers } from "../api/row-routes.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { refuseCallersCode } from "../data-reads/query-code.ts";
import { dataHandlers } from "../databases/data-handlers.ts";
import { mediaHandlers } from "../media/store-handlers.ts";
import { podHandlers } from "./pod-routes.ts";
import { programHandlers } from "./program-routes.ts";
import { schemaHandlers } from "./schema-routes.ts";
import { tableChangeHandlers } from "./table-change-routes.ts";
import { workHandlers } from "./work-routes.ts";

/** The API of a database pod (contract/routes/pod-api.ts). Every request must send the pod's token. */
export function createDatabaseApi(deps: DatabasePodDeps): FastifyInstance {
  const app = createJsonApi({
    log: deps.log,
    machine_disk: deps.machine_disk,
    name: "pod",
    close: "idle",
    authorize: ({ headers }) => {
      if (hasToken(headers.authorization, deps.spec.token)) return;
      throw appError("unauthorized", { detail: "The request does not carry this pod's token." });
    },
  });
  mountApi(app, deps, POD_API, {
    ...mediaHandlers(
      () => deps.managedStore(),
      () => MEDIA_STORE_PATH,
    ),
    ...dataHandlers(async () => {
      await deps.ready();
      return { sql: deps.sql, row_files: deps.row_files, uri: deps.spec.uri, page_bytes: deps.page_bytes };
    }),
    ...podHandlers(app, deps),
    ...programHandlers(deps),
    ...queryHandlers(deps.log, {
      openReads: async ({ body }) => {
        refuseCallersCode(body);
        await deps.ready();
        return deps.reads;
      },
      openSql: async () => {
        await deps.ready();
        return deps.sql_reads;
      },
    }),
    ...psqlHandlers(deps.log, async () => {
      await deps.ready();
      return deps.psql;
    }),
    ...rowHandlers(app, deps, async () => {
      await deps.disk.admit();
      await deps.ready();
      return { sql: deps.sql, uri: deps.spec.uri, writes: deps.writes, check: () => deps.disk.check() };
    }),
    ...schemaHandlers(deps),
    ...tableChangeHandlers(deps),
    ...workHandlers(deps),
  });
  return app;
}
