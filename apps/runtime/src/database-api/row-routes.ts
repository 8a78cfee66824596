import { appError } from "@appdb/contract/errors";
import type { POD_API } from "@appdb/contract/routes/pod-api";
import type { FastifyInstance } from "fastify";
import type { Handlers } from "../api/json-api.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { tableIn } from "../databases/data-handlers.ts";
import { Connections } from "../http/connections.ts";
import { carryRequest } from "./carry-request.ts";

/** The routes of the data API that write rows. */
export function rowHandlers(app: FastifyInstance, deps: DatabasePodDeps): Pick<Handlers<typeof POD_API>, "rowInsert"> {
  const connections = new Connections(app.server);
  return {
    rowInsert: async ({ params, reply, request }) => {
      await deps.disk.admit();
      await deps.ready();
      const { table, path } = await tableIn({ sql: deps.sql, uri: deps.spec.uri }, params.table);
      const of = table.view?.table.name ?? table.rows_of?.table;
      if (of !== undefined) throw notInsertable(table.name, of);
      const { log, body_bytes: bodyBytes } = deps;
      const carrier = { connections, log, body_bytes: bodyBytes, check: () => deps.disk.check() };
      await deps.inserts.withRoute(table, path.target.text, (route) => carryRequest(carrier, route, request, reply));
    },
  };
}

function notInsertable(name: string, table: string): Error {
  return appError("invalid_request", {
    detail: `${name} is a view. Its rows are made of rows of the table ${table}.`,
    hint: `Insert the row into ${table}.`,
    meta: { table: name },
  });
}
