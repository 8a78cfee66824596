import { Readable } from "node:stream";
import { appError } from "@appdb/contract/errors";
import { parseTablePath, type TablePath } from "@appdb/contract/names";
import type { POD_API } from "@appdb/contract/routes/pod-api";
import { type ReadableTable, readableTables } from "@appdb/engine/catalog/view-tables";
import { findTable, listRows } from "@appdb/engine/queries/list-rows";
import { folderSchema } from "@appdb/engine/target";
import { endOf } from "@appdb/http/mount-api";
import type { FastifyInstance } from "fastify";
import type { Handlers } from "../api/json-api.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { catalogOf, describeTables } from "../databases/data-tables.ts";
import { Connections } from "../http/connections.ts";
import { carryRequest } from "./carry-request.ts";

/** The data API for tables and rows. */
export function rowHandlers(
  app: FastifyInstance,
  deps: DatabasePodDeps,
): Pick<Handlers<typeof POD_API>, "fileShow" | "rowInsert" | "rowList" | "tableList" | "tableShow"> {
  const { sql } = deps;
  const connections = new Connections(app.server);
  return {
    tableList: async () => {
      await deps.ready();
      const catalog = await catalogOf(sql);
      return { tables: await describeTables(sql, catalog, readableTables(catalog)) };
    },
    tableShow: async ({ params }) => {
      const { table } = await tableOf(deps, params.table);
      return (await describeTables(sql, await catalogOf(sql), [table]))[0];
    },
    rowList: async ({ params, query: { cursor, limit }, reply }) => {
      const { table } = await tableOf(deps, params.table);
      const page = await listRows(sql, table, { limit, cursor: cursor ?? null });
      // sent as text, because JSON numbers would lose digits
      reply.type("application/json; charset=utf-8");
      const rows = await deps.row_files.describe(page.rows.join(","));
      await reply.send(`{"rows":[${rows}],"next":${JSON.stringify(page.next)}}`);
      return undefined;
    },
    fileShow: async ({ query: { token }, reply, request }) => {
      await deps.ready();
      const { headers, method } = request;
      const file = await deps.row_files.read(token, { method, headers, signal: endOf(reply) });
      const isWhole = typeof file.body === "string" || Buffer.isBuffer(file.body);
      await reply
        .code(file.status)
        .headers(file.headers)
        .send(isWhole ? file.body : Readable.from(file.body));
    },
    rowInsert: async ({ params, reply, request }) => {
      await deps.disk.admit();
      const { table, path } = await tableOf(deps, params.table);
      const of = table.view?.table.name ?? table.rows_of?.table;
      if (of !== undefined) throw notInsertable(table.name, of);
      const { log, body_bytes: bodyBytes } = deps;
      const carrier = { connections, log, body_bytes: bodyBytes, check: () => deps.disk.check() };
      await deps.inserts.withRoute(table, path.target.text, (route) => carryRequest(carrier, route, request, reply));
    },
  };
}

/** Finds the table of a request by its path within the database. @throws invalid_target, table_not_found */
async function tableOf(
  { spec, sql, ready }: DatabasePodDeps,
  name: string,
): Promise<{ table: ReadableTable; path: TablePath }> {
  const path = parseTablePath(`${spec.uri}/${name}`);
  await ready();
  const tables = readableTables(await catalogOf(sql));
  const tableName = { folder: folderSchema(path.target.text), name: path.table, text: path.text };
  return { table: findTable(tables, tableName), path };
}

function notInsertable(name: string, table: string): Error {
  return appError("invalid_request", {
    detail: `${name} is a view. Its rows are made of rows of the table ${table}.`,
    hint: `Insert the row into ${table}.`,
    meta: { table: name },
  });
}
