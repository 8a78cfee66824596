import { fromTransport, transportType } from "../kinds/storage-type.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";
import type { CatalogTable } from "./catalog.ts";
import { keyExpression } from "./ddl.ts";
import { loadCatalog } from "./load-catalog.ts";
import { BASE_ROW } from "./lower-iterators.ts";
import { isShadow } from "./shadow-columns.ts";

/**
 * The rows of an iterator view are written by triggers of its base's table, so that they follow every write of the row
 * that makes them in its transaction. A column of the base (`rows_of`) gets all rows of the view as one Json object
 * (compute/rows-runner.ts). The trigger stores them in the view's table and leaves their number in the column. A number
 * leaves the rows as they are: an undo restores it.
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

/** Writes the trigger of an iterator view again, whose table has lost columns. Nothing for another table. */
export async function followDroppedColumns(sql: SqlConnection, tableId: number): Promise<void> {
  const { tables } = await loadCatalog(sql);
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

function functionName(id: number, kind: "rows" | "deleted"): string {
  return `appdb.${quoteIdent(`${kind} of ${id}`)}`;
}

function triggerName(id: number, kind: "rows" | "deleted"): string {
  return quoteIdent(`appdb ${kind} of ${id}`);
}

/** A row that violates the key of the base is not stored, and must not have rows: the statement may skip it silently. */
function rowsFunction(view: CatalogTable, base: CatalogTable): string {
  const column = quoteIdent(view.rows_of?.column ?? "");
  const identity = quoteIdent(base.identity);
  const made = view.columns.filter((column) => column.name !== BASE_ROW && !isShadow(column));
  const names = made.map(({ name }) => quoteIdent(name));
  const given = [...names, "_errors"].map((name) => `${name} text`).join(", ");
  const arrays = made.map(({ name, type }) => `g.${quoteIdent(name)}::${transportType(type)}[]`);
  const values = made.map(({ name, type }) => fromTransport(`u.${quoteIdent(name)}`, type));
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
    `declare
  given json := new.${column};
  made bigint;
begin
  if tg_op = 'UPDATE' and (given is null or json_typeof(given) = 'object') then
    delete from ${target} where ${quoteIdent(BASE_ROW)} = new.${identity};
  end if;
  if json_typeof(given) = 'object' and (tg_op = 'UPDATE' or not ${isTaken}) then
    insert into ${target} ("_row", ${quoteIdent(BASE_ROW)}, ${names.join(", ")}, _errors)
    select uuidv7(), new.${identity}, ${values.join(", ")}, u._errors
    from json_to_record(given) as g(${given}),
      unnest(${[...arrays, "g._errors::jsonb[]"].join(", ")}) as u(${names.join(", ")}, _errors);
    get diagnostics made = row_count;
    new.${column} := to_json(made);
  end if;
  return new;
end`,
  );
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
