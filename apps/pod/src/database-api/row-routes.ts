import { parseTablePath, type TablePath } from "@appdb/contract/names";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import type { CatalogTable } from "@appdb/engine/catalog/catalog";
import { findTable, listRows } from "@appdb/engine/queries/list-rows";
import { folderSchema } from "@appdb/engine/target";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { parseRequest } from "../api/parse.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { catalogOf, describeTables } from "../databases/data-tables.ts";
import { Connections } from "../http/connections.ts";
import { carryRequest, takeBodies } from "./carry-request.ts";

/** Rows of a page. */
const MOST_ROWS = 1_000;

const pageQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MOST_ROWS).default(100),
  cursor: z.string().optional(),
});

/** The data API: tables and their rows. */
export function addRowRoutes(app: FastifyInstance, deps: DatabasePodDeps): void {
  const { sql } = deps;
  app.get(POD_ROUTES.tableList.path, async () => {
    await deps.ready();
    return { tables: await describeTables(sql, (await catalogOf(sql)).tables) };
  });
  app.get(POD_ROUTES.tableShow.path, async (request) => {
    const { table } = await tableOf(deps, request);
    return (await describeTables(sql, [table]))[0];
  });
  app.get(POD_ROUTES.rowList.path, async (request, reply) => {
    const { limit, cursor } = parseRequest(pageQuerySchema, request.query);
    const { table } = await tableOf(deps, request);
    const page = await listRows(sql, table, { limit, cursor: cursor ?? null });
    // as text: JSON's own numbers would lose digits
    reply.type("application/json; charset=utf-8");
    return reply.send(`{"rows":[${page.rows.join(",")}],"next":${JSON.stringify(page.next)}}`);
  });
  const connections = new Connections(app.server);
  void app.register(async (scope) => {
    takeBodies(scope);
    scope.post(POD_ROUTES.rowInsert.path, async (request, reply) => {
      await deps.disk.admit();
      const { table, path } = await tableOf(deps, request);
      const { log, body_bytes: bodyBytes } = deps;
      const carrier = { connections, log, body_bytes: bodyBytes, check: () => deps.disk.check() };
      await deps.inserts.withRoute(table, path.target.text, (route) => carryRequest(carrier, route, request, reply));
    });
  });
}

/** The table that a request names by its path within the database. @throws invalid_target, table_not_found */
async function tableOf(
  { spec, sql, ready }: DatabasePodDeps,
  request: FastifyRequest,
): Promise<{ table: CatalogTable; path: TablePath }> {
  const { table: name } = request.params as { table: string };
  const path = parseTablePath(`${spec.uri}/${name}`);
  await ready();
  const { tables } = await catalogOf(sql);
  const place = { folder: folderSchema(path.target.text), name: path.table, text: path.text };
  return { table: findTable(tables, place), path };
}
