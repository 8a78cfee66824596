import { Readable } from "node:stream";
import { appError } from "@appdb/contract/errors";
import { parseTablePath, type TablePath } from "@appdb/contract/names";
import type { DATA_SCHEMAS } from "@appdb/contract/routes/data-api";
import type { Catalog } from "@appdb/engine/catalog/catalog";
import { listFolders } from "@appdb/engine/catalog/folders";
import { hasCatalog, readDefinitions } from "@appdb/engine/catalog/load-catalog";
import { conditionSql } from "@appdb/engine/conditions/condition-sql";
import type { SqlPool } from "@appdb/engine/ports";
import { countRows, findRow, findTable, listRows } from "@appdb/engine/queries/list-rows";
import { readAgain } from "@appdb/engine/queries/read-again";
import { parseRowOrder } from "@appdb/engine/queries/row-order";
import { SharedAnswers } from "@appdb/engine/queries/shared-answers";
import { folderSchema } from "@appdb/engine/target";
import { type ReadableTable, readableTables } from "@appdb/engine/views/view-tables";
import { endOf } from "@appdb/http/mount-api";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { describeTables } from "./data-tables.ts";
import type { RowFiles } from "./row-files.ts";

/** A database whose tables and rows people read. */
export interface DataSource {
  readonly sql: SqlPool;
  readonly row_files: RowFiles;
  /** Prefix of the paths of its tables: `main`, `cloud://acme:main`. */
  readonly uri: string;
  /** Maximum bytes of a page of rows. */
  readonly page_bytes?: number;
}

type Schemas = typeof DATA_SCHEMAS;
interface Call<Params> {
  readonly params: Params;
  readonly reply: FastifyReply;
}
interface Query<Name extends "rowCount" | "rowList" | "rowShow" | "fileShow"> {
  readonly query: z.output<Schemas[Name]["query"]>;
}
interface OfTable {
  readonly table: string;
}
type OpenTable = DataSource & Awaited<ReturnType<typeof tableIn>>;

/** The data API's routes that read, for each API that has them. `open` finds the database of a request. */
export function dataHandlers<Params>(open: (params: Params) => Promise<DataSource>) {
  // A list of thousands of columns takes megabytes; concurrent requests share it.
  const lists = new SharedAnswers<Buffer>();
  const readTable = async <T>(params: Params & OfTable, read: (of: OpenTable) => Promise<T>): Promise<T> => {
    const source = await open(params);
    return await readAgain(async () => await read({ ...source, ...(await tableIn(source, params.table)) }));
  };
  return {
    tableList: async ({ params, reply }: Call<Params>) => {
      const { sql, uri } = await open(params);
      await sendJson(reply, await lists.run(uri, () => readAgain(() => describeAll(sql))));
      return undefined as never;
    },
    tableShow: async ({ params }: Call<Params & OfTable>) =>
      await readTable(params, async ({ catalog, sql, table }) => {
        const [described] = await describeTables(sql, catalog, [table]);
        if (described === undefined) throw new TypeError("A table has no description.");
        return described;
      }),
    rowList: async ({ params, query, reply }: Call<Params & OfTable> & Query<"rowList">) => {
      const { cursor = null, limit, order_by: orderBy, where } = query;
      const text = await readTable(params, async ({ page_bytes: pageBytes, row_files: files, sql, table }) => {
        const order = orderBy === undefined ? undefined : parseRowOrder(table, orderBy);
        const condition = conditionSql(table, where ?? null);
        const page = await listRows(sql, table, { limit, cursor, order, where: condition, page_bytes: pageBytes });
        const rows = await files.describe(page.rows.join(","));
        return `{"rows":[${rows}],"next":${JSON.stringify(page.next)}}`;
      });
      await sendJson(reply, text);
      return undefined as never;
    },
    rowShow: async ({ params, query: { key }, reply }: Call<Params & OfTable> & Query<"rowShow">) => {
      const row = await readTable(params, async ({ path, row_files: files, sql, table }) =>
        files.describe(await findRow(sql, table, { key: readKey(key), text: path.text })),
      );
      await sendJson(reply, row);
      return undefined as never;
    },
    rowCount: async ({ params, query: { where } }: Call<Params & OfTable> & Query<"rowCount">) =>
      await readTable(params, async ({ sql, table }) => ({
        count: await countRows(sql, table, conditionSql(table, where ?? null)),
      })),
    fileShow: async ({
      params,
      query: { token },
      reply,
      request,
    }: Call<Params> & Query<"fileShow"> & { readonly request: FastifyRequest }) => {
      const { row_files: files } = await open(params);
      const { headers, method } = request;
      const file = await files.read(token, { method, headers, signal: endOf(reply) });
      const isWhole = typeof file.body === "string" || Buffer.isBuffer(file.body);
      await reply
        .code(file.status)
        .headers(file.headers)
        .send(isWhole ? file.body : Readable.from(file.body));
    },
  };
}

async function describeAll(sql: SqlPool): Promise<Buffer> {
  const catalog = await readDefinitions(sql);
  const tables = await describeTables(sql, catalog, readableTables(catalog));
  const folders = (await hasCatalog(sql)) ? await listFolders(sql) : [];
  return Buffer.from(JSON.stringify({ tables, folders }));
}

/** Finds the table of a request by its path within the database. @throws invalid_target, table_not_found */
export async function tableIn(
  { sql, uri }: Pick<DataSource, "sql" | "uri">,
  name: string,
): Promise<{ readonly catalog: Catalog; readonly table: ReadableTable; readonly path: TablePath }> {
  const path = parseTablePath(`${uri}/${name}`);
  const catalog = await readDefinitions(sql);
  const tableName = { folder: folderSchema(path.target.text), name: path.table, text: path.text };
  return { catalog, table: findTable(readableTables(catalog), tableName), path };
}

/** Sends JSON that is written already: JSON numbers would lose digits of rows, and a shared list is written once. */
async function sendJson(reply: FastifyReply, text: string | Buffer): Promise<void> {
  await reply.type("application/json; charset=utf-8").send(text);
}

/** @throws invalid_request */
function readKey(text: string): readonly string[] {
  let key: unknown;
  try {
    key = JSON.parse(text);
  } catch {
    key = undefined;
  }
  if (Array.isArray(key) && key.every((value): value is string => typeof value === "string")) return key;
  throw appError("invalid_request", {
    detail: `The parameter key is ${JSON.stringify(text.slice(0, 100))}, not a JSON array of texts.`,
    hint: 'Give a text for each value of the key: key=["42"]',
  });
}
