import type { SqlConnection } from "../ports.ts";
import type { Catalog, CatalogFunction, CatalogTable, CatalogView } from "./catalog.ts";

/** NOTIFY channel of the catalog; the payload is its new version. */
export const CATALOG_CHANNEL = "appdb_catalog";

/** NOTIFY channel of queued jobs. Migrations contain the same name. */
export const JOBS_CHANNEL = "appdb_jobs";

/** Databases that have a catalog: the first update makes it for good. */
const known = new WeakSet<SqlConnection>();

/** The catalog of a database without one, for a plan before the first update. */
export function emptyCatalog(): Catalog {
  return { version: 0, tables: [], views: [], functions: new Map() };
}

/** True when the database has a catalog. */
export async function hasCatalog(sql: SqlConnection): Promise<boolean> {
  if (known.has(sql)) return true;
  const { rows } = await sql.query({ text: "select to_regclass('appdb.state') is not null" });
  const isThere = rows[0]?.[0] === "t";
  if (isThere) known.add(sql);
  return isThere;
}

/** Loads the definitions. They are empty when no update has made tables in the database, and nothing is created. */
export async function readDefinitions(sql: SqlConnection): Promise<Catalog> {
  return (await hasCatalog(sql)) ? await loadDefinitions(sql) : emptyCatalog();
}

/**
 * Loads the whole catalog of a database that has one, all folders, in one statement and so in one snapshot. It looks into
 * every table, which waits for changes of any, and fails for one that moves meanwhile: only plans need that.
 */
export async function loadCatalog(sql: SqlConnection): Promise<Catalog> {
  return await load(sql, "appdb.load_catalog", ", 'has_rows', appdb.has_rows(t.folder, t.name)");
}

/** Loads the catalog without `has_rows`: no change of a table disturbs it. */
export async function loadDefinitions(sql: SqlConnection): Promise<Catalog> {
  return await load(sql, "appdb.load_definitions", "");
}

async function load(sql: SqlConnection, name: string, more: string): Promise<Catalog> {
  const { rows } = await sql.query({ text: loadSql(more), name });
  const [version, tables, functions, views] = rows[0] ?? [];
  const loaded = JSON.parse(functions ?? "[]") as CatalogFunction[];
  return {
    version: Number(version),
    tables: JSON.parse(tables ?? "[]") as CatalogTable[],
    views: JSON.parse(views ?? "[]") as CatalogView[],
    functions: new Map(loaded.map((fn) => [fn.id, fn])),
  };
}

/** Keys are those of the types in catalog.ts. catalog-store.ts writes these rows. */
const loadSql = (more: string) => `
with open_jobs as materialized (
  select unnest(j.column_ids) as column_id, j.seq, j.code from appdb.jobs j, appdb.state s
  where j.state in ('queued', 'running') and j.incarnation = s.incarnation and j.code is not null
    and j.kind in ('fill', 'recompute') and not j.errors_only)
select s.version,
  (select json_agg(json_build_object(
    'id', t.id, 'folder', t.folder, 'name', t.name, 'version', t.version, 'model', t.model, 'comment', t.comment,
    'custom_metadata', t.custom_metadata, 'primary_key', to_json(t.primary_key),
    'has_default_idxs', t.has_default_idxs, 'identity', t.identity, 'renamed_from', t.renamed_from,
    'project', t.project, 'rows_of', t.rows_of${more},
    'columns', (
      select json_agg(json_build_object(
        'id', c.id, 'name', c.name, 'type', c.type, 'nullable', c.nullable, 'primary_key', c.primary_key,
        'computed', c.computed, 'state', c.state, 'stale', c.stale, 'code', coalesce((
          select o.code from open_jobs o where o.column_id = c.id order by o.seq desc limit 1), c.code), 'renamed_from', c.renamed_from,
        'default', c.default_value, 'is_hidden', c.is_hidden, 'comment', c.comment,
        'custom_metadata', c.custom_metadata) order by c.id)
      from appdb.columns c where c.table_id = t.id),
    'indexes', coalesce((
      select json_agg(json_build_object(
        'id', i.id, 'kind', i.kind, 'name', i.name, 'sql_name', i.sql_name, 'columns', to_json(i.columns),
        'state', i.state, 'replaces', i.replaces, 'embedding', case when i.embedding is not null then json_build_object(
          'metric', i.embedding ->> 'metric', 'precision', i.embedding ->> 'precision',
          'dimensions', i.embedding -> 'dimensions', 'embeds', i.embedding -> 'embeds', 'values', v.name) end,
        'vectors', case when v.id is not null then json_build_object('state', v.state, 'expr', v.computed -> 'expr') end) order by i.id)
      from appdb.indexes i left join appdb.columns v on v.id = i.values_id
      where i.table_id = t.id), '[]'::json)
    ) order by t.folder, t.name)
  from appdb.tables t),
  (select json_agg(json_build_object('id', f.id, 'module', f.module, 'name', f.name, 'digest', f.digest) order by f.id)
  from appdb.functions f),
  (select json_agg(json_build_object('id', v.id, 'folder', v.folder, 'name', v.name, 'table_id', v.table_id,
    'model', v.model, 'comment', v.comment, 'custom_metadata', v.custom_metadata, 'definition', v.definition,
    'renamed_from', v.renamed_from, 'project', v.project) order by v.id)
  from appdb.views v)
from appdb.state s`;
