import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { keyExpression } from "../catalog/ddl.ts";
import { loadDefinitions } from "../catalog/load-catalog.ts";
import { isShadow } from "../catalog/shadow-columns.ts";
import { madeRowsIn, sqlOfMade, travelsAsText } from "../expressions/made-rows.ts";
import { fromTransport, transportType } from "../kinds/storage-type.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";
import { BASE_ROW } from "./lower-iterators.ts";

/**
 * The rows of an iterator view are written by triggers of its base's table, so that they follow every write of the row
 * that makes them in its transaction. A column of the base (`rows_of`) gets all rows of the view as one Json object
 * (RowsText). The trigger computes the columns that SQL computes, stores the rows in the view's table and leaves their
 * number in the column. A number leaves the rows as they are: an undo restores it.
 */
export async function installRowTriggers(sql: SqlConnection, view: CatalogTable, base: CatalogTable): Promise<void> {
  const { id } = view;
  const table = quoteTable(base);
  const column = quoteIdent(view.rows_of?.column ?? "");
  await sql.query({ text: rowsFunction(view, base) });
  await sql.query({ text: deletedFunction(view, base) });
  await sql.query({
    text: `create or replace trigger ${triggerName(id, "rows")} before insert or update of ${column} on ${table}
      for each row execute function ${functionName(id, "rows")}()`,
  });
  await sql.query({
    text: `create or replace trigger ${triggerName(id, "deleted")} after delete on ${table} referencing old table as gone
      for each statement execute function ${functionName(id, "deleted")}()`,
  });
}

/** Writes the triggers of iterator views again whose rows columns of a base are made by other expressions from now on. */
export async function followMakers(
  sql: SqlConnection,
  tables: readonly CatalogTable[],
  base: CatalogTable,
  columns: ReadonlySet<string>,
): Promise<void> {
  for (const view of tables) {
    const made = view.rows_of;
    if (made == null || view.folder !== base.folder || made.table !== base.name || !columns.has(made.column)) continue;
    await sql.query({ text: rowsFunction(view, base) });
  }
}

/** Writes the trigger of an iterator view again, whose table has lost columns. Nothing for another table. */
export async function followDroppedColumns(sql: SqlConnection, tableId: number): Promise<void> {
  const { tables } = await loadDefinitions(sql);
  const view = tables.find(({ id }) => id === tableId);
  const base = tables.find(({ folder, name }) => folder === view?.folder && name === view.rows_of?.table);
  if (view !== undefined && base !== undefined) await sql.query({ text: rowsFunction(view, base) });
}

/** Removes the triggers of a view, whose table and column are about to be dropped. */
export async function dropRowTriggers(sql: SqlConnection, id: number): Promise<void> {
  for (const kind of ["rows", "deleted"] as const) {
    await sql.query({ text: `drop function if exists ${functionName(id, kind)}() cascade` });
  }
}

/**
 * Drops the triggers and the rows of iterator views whose rows columns of a base make: the columns are about to be
 * dropped, and the views are made again with them. The rows of views over these views go, too. Frees their space when
 * the transaction commits.
 */
export async function dropMadeRows(
  sql: SqlConnection,
  tables: readonly CatalogTable[],
  base: CatalogTable,
  columns: ReadonlySet<string>,
): Promise<void> {
  const viewsOf = ({ folder, name }: CatalogTable): readonly CatalogTable[] =>
    tables.filter((view) => view.folder === folder && view.rows_of?.table === name);
  const views = viewsOf(base).filter(({ rows_of: made }) => made != null && columns.has(made.column));
  if (views.length === 0) return;
  for (const { id } of views) await dropRowTriggers(sql, id);
  // Grows while it is visited.
  const emptied = new Set(views);
  for (const view of emptied) for (const above of viewsOf(view)) emptied.add(above);
  await sql.query({ text: `truncate ${[...emptied].map(quoteTable).join(", ")}` });
}

/**
 * PostgreSQL needs about 20 times the bytes of made rows while it stores those of one base row. Transactions with many
 * bytes in a row take turns, so that callers at the same time do not exceed its memory.
 */
const TURN_BYTES = 1_000_000;
/** Fixed advisory lock number. */
const TURN_LOCK = 7_236_118_054;

function functionName(id: number, kind: "rows" | "deleted"): string {
  return `appdb.${quoteIdent(`${kind} of ${id}`)}`;
}

function triggerName(id: number, kind: "rows" | "deleted"): string {
  return quoteIdent(`appdb ${kind} of ${id}`);
}

/**
 * Row ids are the first one with the number of the row in its last 20 bits, enough for all rows of an iterator: a random id
 * for each row takes a tenth of the time. 42 random bits are left, in addition to the time and its fraction.
 *
 * A row that violates the key of the base is not stored, and must not have rows: the statement may skip it silently.
 */
function rowsFunction(view: CatalogTable, base: CatalogTable): string {
  const column = quoteIdent(view.rows_of?.column ?? "");
  const identity = quoteIdent(base.identity);
  const names = madeColumns(view).map(({ name }) => quoteIdent(name));
  const source = rowsSource(view, base);
  const types = new Map(base.columns.map((one) => [one.name, one.type]));
  const key = base.primary_key.map((name) => {
    const [own, other] = [`new.${quoteIdent(name)}`, `t.${quoteIdent(name)}`];
    return `${keyExpression(other, types.get(name))} = ${keyExpression(own, types.get(name))}`;
  });
  const isTaken =
    key.length === 0 || base.identity !== "_row"
      ? "false"
      : `exists (select from ${quoteTable(base)} as t where ${key.join(" and ")})`;
  const target = quoteTable(view);
  return triggerFunction(
    functionName(view.id, "rows"),
    // No column of a view has a name like those of the variables. Columns can have the names of others, such as tg_op.
    `#variable_conflict use_column
declare
  "(given)" json := new.${column};
  "(first)" text := uuidv7();
  "(made)" bigint;
begin
  if tg_op = 'UPDATE' and ("(given)" is null or json_typeof("(given)") = 'object') then
    delete from ${target} where ${quoteIdent(BASE_ROW)} = new.${identity};
  end if;
  if json_typeof("(given)") = 'object' and (tg_op = 'UPDATE' or not ${isTaken}) then
    if pg_column_size("(given)") > ${TURN_BYTES} then
      perform pg_advisory_xact_lock(${TURN_LOCK});
    end if;
    insert into ${target} ("_row", ${quoteIdent(BASE_ROW)}, ${names.join(", ")}, _errors)
    select (left("(first)", 31) || lpad(to_hex(pos), 5, '0'))::uuid, new.${identity}, ${names.join(", ")}, _errors from ${source};
    get diagnostics "(made)" = row_count;
    new.${column} := to_json("(made)");
  end if;
  return new;
end`,
  );
}

/**
 * A FROM list over the rows of `given`. The values of each column are one Json array: PostgreSQL reads it several times
 * faster than the text of an array, whose quotes are escaped twice.
 */
function rowsSource(view: CatalogTable, base: CatalogTable): string {
  const expr = base.columns.find(({ name }) => name === view.rows_of?.column)?.computed?.expr;
  const rows = expr === undefined ? undefined : madeRowsIn(expr);
  if (rows === undefined) throw new Error(`The table ${base.name} has no column that makes the rows of ${view.name}.`);
  const bySql = sqlOfMade(rows);
  const outputs = new Set(rows.outputs.filter((output) => !travelsAsText(output)).map(({ name }) => name));
  const sent = madeColumns(view).filter(({ name }) => name !== "pos" && !bySql.has(name));
  const lists = sent.map(
    ({ name }) => `json_array_elements_text(g.${outputs.has(name) ? "given" : "computed"} -> ${quoteLiteral(name)})`,
  );
  const values = sent.map(({ name, type }) => {
    const text = `u.${quoteIdent(name)}`;
    const sqlType = transportType(type);
    // Constants have bytes as base64.
    const isBase64 = outputs.has(name) && sqlType === "bytea";
    const value = isBase64 ? `decode(${text}, 'base64')` : `${text}::${sqlType}`;
    return `${fromTransport(value, type)} as ${quoteIdent(name)}`;
  });
  const made = `(select ${["u.pos", ...values, "(g.errors -> u.pos::text)::jsonb as _errors"].join(", ")}
      from json_to_record("(given)") as g(rows bigint, given json, computed json, errors json),
        rows from (${["generate_series(0, g.rows - 1)", ...lists].join(", ")})
          as u(${["pos", ...sent.map(({ name }) => quoteIdent(name))].join(", ")})) as made`;
  const steps = [...bySql].map(([name, sql], at) => `lateral (select ${sql} as ${quoteIdent(name)}) as step${at + 1}`);
  return [made, ...steps].join(", ");
}

/** The columns of a view's table that its trigger writes, but the identity of the base's row. */
function madeColumns({ columns }: CatalogTable): readonly CatalogColumn[] {
  return columns.filter((column) => column.name !== BASE_ROW && !isShadow(column));
}

function deletedFunction(view: CatalogTable, base: CatalogTable): string {
  const identity = quoteIdent(base.identity);
  return triggerFunction(
    functionName(view.id, "deleted"),
    `begin
  delete from ${quoteTable(view)} as v using gone where v.${quoteIdent(BASE_ROW)} = gone.${identity};
  return null;
end`,
  );
}

function triggerFunction(name: string, body: string): string {
  return `create or replace function ${name}() returns trigger language plpgsql as ${quoteLiteral(body)}`;
}
