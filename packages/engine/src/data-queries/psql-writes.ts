import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import { kindOf } from "../kinds/kinds.ts";
import { isMedia } from "../kinds/media.ts";
import type { SqlConnection, SqlPool } from "../ports.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";

/** Maximum wait for the lock on a table. Writers wait behind this lock request. */
const LOCK_TIMEOUT = "2s";
const TRIGGER = "appdb_psql_write";

/**
 * Completes a row that a person writes by SQL: it gets its identity, and its computed columns are pending, so that a job
 * computes them. Arguments: the table's id, the column of the identity, then for columns whose PostgreSQL type has more
 * values than their own: the id, and SQL that finds such a value. It runs as the owner, whatever the writer may do.
 */
const COMPLETE_ROW = `
create or replace function appdb.complete_row() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
  ids bigint[];
  pending jsonb;
  foreign_name text;
  is_foreign boolean;
begin
  if tg_op = 'UPDATE' and new::text is not distinct from old::text then
    return new;
  end if;
  for place in 2 .. tg_nargs - 1 by 2 loop
    select c.name into foreign_name from appdb.columns c where c.id = tg_argv[place]::bigint;
    continue when foreign_name is null;
    execute format('select ' || tg_argv[place + 1], foreign_name) using new into is_foreign;
    if is_foreign then
      raise exception 'The value of % is outside of its type.', foreign_name using errcode = '22023';
    end if;
  end loop;
  if tg_op = 'INSERT' and to_jsonb(new) ->> tg_argv[1] is null then
    new := jsonb_populate_record(new, jsonb_build_object(tg_argv[1], uuidv7()));
  end if;
  select array_agg(c.id), jsonb_object_agg(c.name, 'pending') into ids, pending
    from appdb.columns c where c.table_id = tg_argv[0]::bigint and c.computed is not null;
  if ids is not null then
    new._errors := coalesce(new._errors, '{}') || pending;
    perform appdb.mark_pending(tg_argv[0]::bigint, ids);
  end if;
  return new;
end
$body$`;

/**
 * Lets members of a role write rows of the tables: given columns without files. Keys that PostgreSQL makes and computed
 * columns stay closed to them. `prefix`: names of the members begin so. `sql` is the owner's. Safe to repeat.
 * @throws SqlError lock_not_available while another transaction holds a table
 */
export async function letRoleWrite(
  sql: SqlPool,
  { tables }: Catalog,
  { prefix, role }: { readonly role: string; readonly prefix: string },
): Promise<void> {
  const written = tables.filter(({ rows_of: made }) => made == null);
  await sql.transaction(async (connection) => {
    await connection.query({ text: `set local lock_timeout = '${LOCK_TIMEOUT}'` });
    await connection.query({ text: COMPLETE_ROW });
    await connection.query({ text: "revoke execute on function appdb.complete_row() from public" });
    for (const view of tables.filter(({ rows_of: made }) => made != null)) await deleteAsOwner(connection, view);
    for (const table of written) {
      await grantColumns(connection, table, role);
      await addTrigger(connection, table, prefix);
    }
  });
}

/** A trigger deletes the rows of an iterator view with those of its base, which only the owner may. */
async function deleteAsOwner(connection: SqlConnection, { id }: CatalogTable): Promise<void> {
  const name = `appdb.${quoteIdent(`deleted of ${id}`)}`;
  const { rows } = await connection.query({
    text: "select from pg_proc where oid = to_regproc($1) and not prosecdef",
    values: [name],
  });
  if (rows.length === 0) return;
  await connection.query({ text: `alter function ${name}() security definer set search_path = pg_catalog, pg_temp` });
}

async function grantColumns(connection: SqlConnection, table: CatalogTable, role: string): Promise<void> {
  const name = quoteTable(table);
  const given = table.columns.filter(
    ({ computed, is_hidden: isHidden, state, type }) =>
      computed === null && isHidden !== true && state === "ready" && !isMedia(type.kind),
  );
  const inserted = given.map((column) => quoteIdent(column.name));
  // rows of iterator views refer to the identity
  const updated = given.filter((column) => column.name !== table.identity).map((column) => quoteIdent(column.name));
  await connection.query({ text: `revoke all on table ${name} from ${role}` });
  if (inserted.length > 0)
    await connection.query({ text: `grant insert (${inserted.join(", ")}) on ${name} to ${role}` });
  if (updated.length > 0)
    await connection.query({ text: `grant update (${updated.join(", ")}) on ${name} to ${role}` });
  await connection.query({ text: `grant delete on table ${name} to ${role}` });
}

async function addTrigger(connection: SqlConnection, table: CatalogTable, prefix: string): Promise<void> {
  const args = [String(table.id), table.identity, ...foreignChecks(table)];
  const { rows } = await connection.query({
    text: "select from pg_trigger where tgrelid = $1::regclass and tgname = $2 and encode(tgargs, 'hex') = $3",
    values: [quoteTable(table), TRIGGER, Buffer.from(args.map((arg) => `${arg}\0`).join("")).toString("hex")],
  });
  if (rows.length > 0) return;
  await connection.query({
    text: `create or replace trigger ${TRIGGER} before insert or update on ${quoteTable(table)} for each row
      when (starts_with(current_user, ${quoteLiteral(prefix)}))
      execute function appdb.complete_row(${args.map(quoteLiteral).join(", ")})`,
  });
}

/** For each column that can get a value which its type does not have: its id, and SQL over the row and its name. */
function foreignChecks({ columns }: CatalogTable): string[] {
  return columns.flatMap(({ computed, id, type }) => {
    const { isForeignSql } = kindOf(type);
    if (computed !== null || isForeignSql === null) return [];
    return [String(id), isForeignSql("($1).%1$I", type)];
  });
}
