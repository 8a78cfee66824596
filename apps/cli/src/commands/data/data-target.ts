import { type ExactObject, isObject, parseExact } from "@appdb/contract/clients/exact-json";
import { jsonOf } from "@appdb/contract/clients/typed-values";
import { inWordsOfRequest } from "@appdb/contract/control/database-advice";
import { appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import { isHosted, parseTablePath, parseTarget, type Target } from "@appdb/contract/names";
import type { DataTable, RowPage } from "@appdb/contract/routes/data-api";
import type { Written } from "@appdb/contract/routes/data-writes";
import type { Context } from "../../context.ts";
import { commandLine } from "../../output/command-line.ts";
import type { Output } from "../../output/output.ts";
import { text, usageError } from "../parameters.ts";

interface RowQuery {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly where: string | undefined;
  readonly order_by: string | undefined;
}

/** Tables, and folders with or without tables. */
export interface Listing {
  readonly tables: readonly DataTable[];
  readonly folders: readonly string[];
}

/** The tables and rows of a local or hosted database. `table`: a path within it, such as `reports/docs`. */
export interface DataTarget {
  /** Paths within the database. */
  list(): Promise<Listing>;
  table(table: string): Promise<DataTable>;
  count(table: string, where: string | undefined): Promise<number>;
  /** The response's text: numbers may be larger than those of JavaScript. */
  rows(table: string, query: RowQuery): Promise<string>;
  row(table: string, key: readonly string[]): Promise<string>;
  /** Inserts rows, one JSON object per line: all or none. */
  insert(table: string, lines: AsyncIterable<Uint8Array>, onError: OnError): Promise<Written>;
  /** Texts of the bodies: keys can have integers beyond 2^53. */
  update(table: string, body: string): Promise<Written>;
  delete(table: string, body: string): Promise<Written>;
}

export const TABLE = {
  brief: "The table or view: main/docs, cloud://acme:main/docs",
  placeholder: "TABLE",
  parse: text,
} as const;

export const TABLE_AND_KEY = {
  brief: "The table, then the values of the key: main/docs 42",
  placeholder: "TABLE KEY",
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
  parse: condition,
  optional: true,
  brief: "Only rows of a condition: score > 0.5 and title like 'x%'",
  placeholder: "condition",
} as const;

/** An empty variable of a script must not name rows, least of all every row. @throws Error */
function condition(typed: string): string {
  if (typed.trim() !== "") return typed;
  throw new Error("it is empty; all rows are --where true");
}

export const ON_ERROR_FLAG = {
  kind: "enum",
  values: ["abort", "ignore"],
  default: "abort",
  brief: "A computed cell that fails: abort stores nothing, ignore stores null and the error",
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

/** The table that a command writes to. @throws not_found; database_not_available, which names the write */
export async function tableToWrite(data: DataTarget, path: string): Promise<DataTable> {
  return await data.table(path).catch((error: unknown) => {
    throw inWordsOfRequest(error, "written");
  });
}

/** Opens the database of a target. @throws errors of finding the daemon or the server */
export async function openData(ctx: Context, target: Target): Promise<DataTarget> {
  const options = { signal: ctx.signal };
  if (target.kind === "local") {
    const client = await ctx.daemon.ensure();
    const at = <Name extends string>(table: Name) => ({ db: target.database, table });
    return {
      list: () => client.call("tableList", { params: { db: target.database } }, options),
      table: (table) => client.call("tableShow", { params: at(table) }, options),
      count: async (table, where) =>
        (await client.call("rowCount", { params: at(table), query: { where } }, options)).count,
      rows: (table, query) => client.text("rowList", { params: at(table), query }, options),
      row: (table, key) => client.text("rowShow", { params: at(table), query: keyQuery(key) }, options),
      insert: async (table, sent, onError) =>
        readWritten(
          await client.text(
            "rowInsert",
            { params: at(table), query: counted(onError), sent },
            { ...options, ...LINES },
          ),
        ),
      update: (table, sent) => client.call("rowUpdate", { params: at(table), sent }, options),
      delete: (table, sent) => client.call("rowDelete", { params: at(table), sent }, options),
    };
  }
  const { client } = await (await ctx.control()).open();
  const params = { org: target.uri.organization, db: target.uri.database };
  return {
    list: () => client.call("tableList", { params }, options),
    table: (table) => client.call("tableShow", { params: { ...params, table } }, options),
    count: async (table, where) =>
      (await client.call("rowCount", { params: { ...params, table }, query: { where } }, options)).count,
    rows: (table, query) => client.text("rowList", { params: { ...params, table }, query }, options),
    row: (table, key) => client.text("rowShow", { params: { ...params, table }, query: keyQuery(key) }, options),
    insert: async (table, sent, onError) =>
      readWritten(
        await client.text(
          "rowInsert",
          { params: { ...params, table }, query: counted(onError), sent },
          { ...options, ...LINES },
        ),
      ),
    update: (table, sent) => client.call("rowUpdate", { params: { ...params, table }, sent }, options),
    delete: (table, sent) => client.call("rowDelete", { params: { ...params, table }, sent }, options),
  };
}

const LINES = { headers: { "content-type": "application/x-ndjson" } } as const;

function counted(onError: OnError) {
  return { on_error: onError, return_rows: "0" } as const;
}

function readWritten(response: string): Written {
  return JSON.parse(response) as Written;
}

function keyQuery(key: readonly string[]): { readonly key: string } {
  return { key: JSON.stringify(key) };
}

/** The tables that a typed database, folder or table means, and its folders, each with its complete path. */
export async function listingOf(ctx: Context, typed: string): Promise<Listing> {
  const isDotted = !isHosted(typed) && typed.includes(".");
  const target = parseTarget(isDotted ? parseTablePath(typed).text : typed);
  const database = target.kind === "local" ? target.database : target.uri.text;
  const within = target.folders.join("/");
  const { folders, tables } = await (await openData(ctx, target)).list();
  const isInside = (path: string) => within === "" || path === within || path.startsWith(`${within}/`);
  const inside = { tables: tables.filter(({ path }) => isInside(path)), folders: folders.filter(isInside) };
  if (inside.tables.length === 0 && inside.folders.length === 0 && within !== "") {
    throw appError("table_not_found", {
      detail: `${target.text} is neither a table nor a folder.`,
      hint: `List the tables: cli ls ${database}`,
      meta: { target: target.text },
    });
  }
  return {
    tables: inside.tables.map((table) => ({ ...table, path: `${database}/${table.path}` })),
    folders: inside.folders.map((path) => `${database}/${path}`),
  };
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

/** The keys of typed values: by column, the JSON text. A key of two columns takes two values. @throws usage */
export function keysOf(
  table: DataTable,
  typed: readonly string[],
  path: string,
): readonly (readonly (readonly [name: string, json: string])[])[] {
  const columns = table.columns.filter((column) => column.is_key);
  if (columns.length === 0) {
    throw usageError(`${path} has no primary key.`, 'Name the rows by a condition: --where "score < 0.5"');
  }
  if (typed.length % columns.length !== 0) {
    const names = columns.map(({ name }) => name).join(", ");
    throw usageError(
      `The key of ${path} is (${names}): ${columns.length} values, not ${typed.length}.`,
      "Give a value for each column of the key, in this order.",
    );
  }
  const keys: (readonly [string, string])[][] = [];
  for (let from = 0; from < typed.length; from += columns.length) {
    keys.push(
      columns.map((column, at) => [column.name, jsonOf(column, { text: typed[from + at] ?? "", is_quoted: true })]),
    );
  }
  return keys;
}

/** Prints how many cells failed and where to see why. */
export function failedCells(out: Output, errors: number, path: string): void {
  if (errors > 0) out.note(`${errors} cells failed; see them: ${commandLine(["rows", path, "--json"])}`);
}

const SECOND_MS = 1_000;

/** Shows on stderr how long work takes, once it takes longer than a second; as JSON lines for programs. */
export async function whileWorking<T>(out: Output, json: boolean, what: string, work: () => Promise<T>): Promise<T> {
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += 1;
    if (json) out.note(JSON.stringify({ event: "working", what, seconds }));
    else out.status(`${what}: ${seconds} s`);
  }, SECOND_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (seconds > 0 && !json) out.status("");
  }
}
