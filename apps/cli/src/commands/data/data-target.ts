import { type ExactObject, isObject, parseExact } from "@appdb/contract/clients/exact-json";
import { appError } from "@appdb/contract/errors";
import { isHosted, parseTablePath, parseTarget, type Target } from "@appdb/contract/names";
import type { DataTable, RowPage } from "@appdb/contract/routes/data-api";
import type { Context } from "../../context.ts";
import { text } from "../parameters.ts";

interface RowQuery {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly where: string | undefined;
  readonly order_by: string | undefined;
}

/** The tables and rows of a local or hosted database. `table`: a path within it, such as `reports/docs`. */
export interface DataTarget {
  tables(): Promise<readonly DataTable[]>;
  table(table: string): Promise<DataTable>;
  count(table: string, where: string | undefined): Promise<number>;
  /** The response's text: numbers may be larger than those of JavaScript. */
  rows(table: string, query: RowQuery): Promise<string>;
  row(table: string, key: readonly string[]): Promise<string>;
}

export const TABLE = {
  brief: "The table or view: main/docs, cloud://acme:main/docs",
  placeholder: "TABLE",
  parse: text,
} as const;
export const COLUMNS_FLAG = {
  kind: "parsed",
  parse: text,
  optional: true,
  brief: "Only these columns, separated by commas",
  placeholder: "names",
} as const;

export const WHERE_FLAG = {
  kind: "parsed",
  parse: text,
  optional: true,
  brief: "Only rows of a condition: score > 0.5 and title like 'x%'",
  placeholder: "condition",
} as const;

/** A table of a typed path. */
export interface NamedTable {
  readonly data: DataTarget;
  /** Within its database. */
  readonly path: string;
  /** The complete path: `main/docs`. */
  readonly text: string;
}

/** Opens the database of a table. @throws invalid_target; errors of finding the daemon or the server */
export async function openTable(ctx: Context, typed: string): Promise<NamedTable> {
  const { table, target, text: whole } = parseTablePath(typed);
  return { data: await openData(ctx, target), path: [...target.folders, table].join("/"), text: whole };
}

/** Opens the database of a target. @throws errors of finding the daemon or the server */
export async function openData(ctx: Context, target: Target): Promise<DataTarget> {
  const options = { signal: ctx.signal };
  if (target.kind === "local") {
    const client = await ctx.daemon.ensure();
    const at = <Name extends string>(table: Name) => ({ db: target.database, table });
    return {
      tables: async () => (await client.call("tableList", { params: { db: target.database } }, options)).tables,
      table: (table) => client.call("tableShow", { params: at(table) }, options),
      count: async (table, where) =>
        (await client.call("rowCount", { params: at(table), query: { where } }, options)).count,
      rows: (table, query) => client.text("rowList", { params: at(table), query }, options),
      row: (table, key) => client.text("rowShow", { params: at(table), query: keyQuery(key) }, options),
    };
  }
  const { client } = await (await ctx.control()).open();
  const params = { org: target.uri.organization, db: target.uri.database };
  return {
    tables: async () => (await client.call("tableList", { params }, options)).tables,
    table: (table) => client.call("tableShow", { params: { ...params, table } }, options),
    count: async (table, where) =>
      (await client.call("rowCount", { params: { ...params, table }, query: { where } }, options)).count,
    rows: (table, query) => client.text("rowList", { params: { ...params, table }, query }, options),
    row: (table, key) => client.text("rowShow", { params: { ...params, table }, query: keyQuery(key) }, options),
  };
}

function keyQuery(key: readonly string[]): { readonly key: string } {
  return { key: JSON.stringify(key) };
}

/** A typed database, folder or table, and the tables that it means, each with its complete path. */
export async function tablesOf(ctx: Context, typed: string): Promise<readonly DataTable[]> {
  const isDotted = !isHosted(typed) && typed.includes(".");
  const target = parseTarget(isDotted ? parseTablePath(typed).text : typed);
  const database = target.kind === "local" ? target.database : target.uri.text;
  const within = target.folders.join("/");
  const tables = await (await openData(ctx, target)).tables();
  const found = tables.filter(({ path }) => within === "" || path === within || path.startsWith(`${within}/`));
  if (found.length === 0 && within !== "") {
    throw appError("table_not_found", {
      detail: `${target.text} is neither a table nor a folder with tables.`,
      hint: `List the tables: cli ls ${database}`,
      meta: { target: target.text },
    });
  }
  return found.map((table) => ({ ...table, path: `${database}/${table.path}` }));
}

/** The rows of a page, and where the next one begins. @throws server_failed if it is malformed */
export function readPage(page: string): { readonly rows: readonly ExactObject[]; readonly next: RowPage["next"] } {
  const parsed = parseExact(page);
  const [rows, next] = isObject(parsed) ? [parsed.get("rows"), parsed.get("next")] : [];
  if (!Array.isArray(rows) || !rows.every(isObject)) throw unreadable();
  return { rows, next: typeof next === "string" ? next : null };
}

/** @throws server_failed if it is malformed */
export function readRow(row: string): ExactObject {
  const parsed = parseExact(row);
  if (!isObject(parsed)) throw unreadable();
  return parsed;
}

function unreadable(): Error {
  return appError("server_failed", {
    detail: "The response has no rows.",
    hint: "Check the server: cli whoami",
  });
}

/** The columns that `--columns` names, all without it. @throws column_not_found */
export function chosenColumns(table: DataTable, typed: string | undefined, path: string): DataTable["columns"] {
  if (typed === undefined) return table.columns;
  const names = typed.split(",").map((name) => name.trim().toLowerCase());
  return names.map((name) => {
    const column = table.columns.find((one) => one.name === name);
    if (column !== undefined) return column;
    throw appError("column_not_found", {
      detail: `${path} has no column ${JSON.stringify(name)}.`,
      hint: `It has ${table.columns.map((one) => one.name).join(", ")}.`,
      meta: { table: path, column: name },
    });
  });
}

/** A row with the chosen columns alone, and its cell errors. */
export function withColumns(row: ExactObject, columns: DataTable["columns"]): ExactObject {
  const names = [...columns.map(({ name }) => name), "_errors"];
  return new Map(names.flatMap((name) => (row.has(name) ? [[name, row.get(name) ?? null] as const] : [])));
}
