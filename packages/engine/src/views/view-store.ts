import type { CatalogColumn, CatalogTable, CatalogView, ViewDefinition } from "../catalog/catalog.ts";
import { loadDefinitions } from "../catalog/load-catalog.ts";
import { isShadow, SHADOWS } from "../catalog/shadow-columns.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import type { SqlConnection } from "../ports.ts";
import { storableText } from "../sql/quote.ts";
import type { DeclaredView } from "./lower-views.ts";

/** Writers of the catalog's views. All run inside the transaction of an update or a prune. */

/** Stores views as declared, in place of those of the same id. A view has its previous definition until a job has put its
 *  shadows in place, or has filled the columns that its next condition reads. */
export async function storeViews(
  sql: SqlConnection,
  folder: string,
  views: readonly { readonly id: number | null; readonly to: DeclaredView }[],
): Promise<void> {
  const known = views.flatMap(({ id }) => id ?? []);
  await renameBases(sql, views);
  // Two views may swap their names. No declared name can contain this sign.
  await sql.query({ text: "update appdb.views set name = '#' || id where id = any($1::bigint[])", values: [known] });
  for (const { id, to } of views) {
    const values = [
      folder,
      to.name,
      to.table,
      to.model,
      to.comment === null ? null : storableText(to.comment),
      to.custom_metadata == null ? null : JSON.stringify(to.custom_metadata),
      JSON.stringify(to.definition),
    ];
    const table = "(select id from appdb.tables where folder = $1 and name = $3)";
    if (id === null) {
      const text = `insert into appdb.views (folder, name, table_id, model, comment, custom_metadata, definition)
        values ($1, $2, ${table}, $4, $5, $6, $7)`;
      await sql.query({ text, values });
    } else {
      const isLater = `c.name like '${SHADOWS}' or (c.state = 'filling' and c.name = any($9::text[]))`;
      const isBusy = `exists (select from appdb.columns c where c.table_id = ${table} and (${isLater}))`;
      const text = `update appdb.views set folder = $1, name = $2, table_id = ${table}, model = $4, comment = $5,
        custom_metadata = $6, definition = case when ${isBusy}
          then ((definition::jsonb - 'next') || jsonb_build_object('next', $7::jsonb))::json else $7::json end
        where id = $8`;
      await sql.query({ text, values: [...values, id, readBy(to.definition)] });
    }
  }
}

/** Iterator views name the filtered view that they are over. */
async function renameBases(
  sql: SqlConnection,
  views: readonly { readonly id: number | null; readonly to: DeclaredView }[],
): Promise<void> {
  const known = views.filter(({ id }) => id !== null);
  await sql.query({
    text: `update appdb.tables t set rows_of = jsonb_set(t.rows_of::jsonb, '{base}', to_jsonb(m.name))
      from unnest($1::bigint[], $2::text[]) as m(id, name) join appdb.views v on v.id = m.id and v.name <> m.name
      where t.folder = v.folder and t.rows_of ->> 'base' = v.name`,
    values: [known.map(({ id }) => id), known.map(({ to }) => to.name)],
  });
}

/** Gives the views of a table the definitions of the shadows that are now in place. */
export async function placeDefinitions(sql: SqlConnection, tableId: number): Promise<void> {
  await sql.query({
    text: "update appdb.views set definition = definition -> 'next' where table_id = $1 and definition -> 'next' is not null",
    values: [tableId],
  });
}

/** Gives views their next definitions, if these wait for nothing more than columns that are filled now. */
export async function placeFilled(sql: SqlConnection, tableId: number): Promise<void> {
  const { tables, views } = await loadDefinitions(sql);
  const columns = tables.find(({ id }) => id === tableId)?.columns ?? [];
  if (columns.some(isShadow)) return;
  const ready = new Set(columns.flatMap(({ name, state }) => (state === "ready" ? [name] : [])));
  const placed = views.filter(({ table_id: of, definition: { next } }) => {
    return of === tableId && next !== undefined && readBy(next).every((name) => ready.has(name));
  });
  await sql.query({
    text: "update appdb.views set definition = definition -> 'next' where id = any($1::bigint[])",
    values: [placed.map(({ id }) => id)],
  });
}

/** Leaves views as they are whose next conditions read dropped columns; all views of the table, if shadows are dropped. */
export async function keepDefinitions(
  sql: SqlConnection,
  { id: tableId }: CatalogTable,
  views: readonly CatalogView[],
  dropped: readonly CatalogColumn[],
): Promise<void> {
  const names = new Set(dropped.map(({ name }) => name));
  const isOfAll = dropped.some(isShadow);
  const kept = views.filter(({ table_id: of, definition: { next } }) => {
    return of === tableId && next !== undefined && (isOfAll || readBy(next).some((name) => names.has(name)));
  });
  await sql.query({
    text: "update appdb.views set definition = definition::jsonb - 'next' where id = any($1::bigint[])",
    values: [kept.map(({ id }) => id)],
  });
}

function readBy({ member }: ViewDefinition): readonly string[] {
  return member === null ? [] : referencedColumns(member);
}

/** Stores the project of a folder's views, and the renames that the applied file declares, which are then done. */
export async function rememberViews(
  sql: SqlConnection,
  folder: string,
  views: readonly DeclaredView[],
  project: string | undefined,
): Promise<void> {
  await sql.query({
    text: `update appdb.views v set renamed_from = m.was, project = coalesce($4, v.project)
      from unnest($2::text[], $3::text[]) as m(name, was) where v.folder = $1 and v.name = m.name
        and (v.renamed_from, v.project) is distinct from (m.was, coalesce($4, v.project))`,
    values: [folder, views.map(({ name }) => name), views.map(({ renamed_from: was }) => was), project ?? null],
  });
}

export async function deleteView(sql: SqlConnection, id: number): Promise<void> {
  await sql.query({ text: "delete from appdb.views where id = $1", values: [id] });
}
