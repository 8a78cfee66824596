import type { CatalogTable } from "../catalog/catalog.ts";
import { hasCatalog, loadDefinitions } from "../catalog/load-catalog.ts";
import { countOpenJobs } from "../jobs/count-jobs.ts";
import { isMedia } from "../kinds/media.ts";
import type { MediaFiles, SqlConnection, SqlPool } from "../ports.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { findNameOf, USED_BY_NAME } from "./media-names.ts";

/** An object without a row stays for this time after it was last given: responses to retries may still name it. */
export const MEDIA_GRACE_MS = 2 * 86_400_000;
/** An object with rows is looked up again after this time. */
const CHECKED_AGAIN_MS = 86_400_000;
/** Maximum objects of one collection. The oldest ones come first. */
const MAX_CHECKED = 10_000;
/** Objects that are deleted in one transaction. */
const BATCH = 100;

/** A request that gave an object so long ago has stored its row, or has failed. A process records an object again after ten minutes. */
const SETTLED_MS = 3_600_000;

interface StoredKey {
  readonly store: string;
  readonly key: string;
}

/**
 * Deletes media objects that no row has referred to since the grace period. It may be interrupted at any time and run
 * in several processes at once. While jobs run, whose undo tables hold earlier values, it deletes nothing. An object is
 * deleted while its record is locked: a process that gives the same file meanwhile waits, and stores it again.
 * Returns the number of deleted objects. `onlyStore`: of this store alone.
 * @throws database_unavailable, media_unavailable, media_denied
 */
export async function collectMedia(
  sql: SqlPool,
  media: Pick<MediaFiles, "remove">,
  graceMs = MEDIA_GRACE_MS,
  onlyStore?: string,
): Promise<number> {
  if (!(await hasCatalog(sql)) || (await countOpenJobs(sql)) > 0) return 0;
  const { tables } = await loadDefinitions(sql);
  const { unused } = await sql.transaction((connection) => findUnused(connection, tables, graceMs, onlyStore));
  let deleted = 0;
  for (let at = 0; at < unused.length; at += BATCH) {
    const batch = unused.slice(at, at + BATCH);
    deleted += (await sql.transaction((connection) => deleteLocked(connection, media, batch, graceMs))).objects;
  }
  return deleted;
}

/** Why an object stays. */
export type KeptBecause =
  | { readonly reason: "row"; readonly table: string; readonly column: string }
  | { readonly reason: "name"; readonly name: string }
  /** A request gave it a moment ago, whose row may follow; or a job runs, which could be undone or has the file. */
  | { readonly reason: "recent" | "jobs" };

/**
 * Deletes one object unless a row or a name refers to it, or soon may. Returns why it stays, or undefined.
 * @throws database_unavailable, media_unavailable
 */
export async function removeUnused(
  sql: SqlPool,
  media: Pick<MediaFiles, "remove">,
  object: StoredKey,
): Promise<KeptBecause | undefined> {
  if ((await countOpenJobs(sql)) > 0) return { reason: "jobs" };
  const { tables } = await loadDefinitions(sql);
  const name = await findNameOf(sql, object.store, object.key);
  if (name !== undefined) return { reason: "name", name };
  for (const { column, table, used } of usesOf(tables)) {
    const { row_count: count } = await sql.query({
      text: `select from (select $1::text as key) as c where exists (${used})`,
      values: [object.key],
    });
    if (count > 0) return { reason: "row", table: table.name, column };
  }
  const held = await sql.query({ text: `with ${HELD} select from held where held.key = $1`, values: [object.key] });
  if (held.row_count > 0) return { reason: "jobs" };
  const deleted = await sql.transaction((connection) => deleteLocked(connection, media, [object], SETTLED_MS));
  return deleted.objects > 0 ? undefined : { reason: "recent" };
}

/** What a prune frees, or would free. */
export interface Pruned {
  readonly objects: number;
  readonly bytes: number;
}

/**
 * Deletes all objects of a store that no row and no name refers to, without the grace period: those that were given
 * within the last hour stay, because a row may follow. With `isDry` it only counts them. May be interrupted and repeated.
 * Undefined while jobs run, whose undo tables hold earlier values.
 * @throws database_unavailable, media_unavailable, media_denied
 */
export async function pruneMedia(
  sql: SqlPool,
  media: Pick<MediaFiles, "remove">,
  store: string,
  isDry: boolean,
): Promise<Pruned | undefined> {
  if ((await countOpenJobs(sql)) > 0) return undefined;
  const { tables } = await loadDefinitions(sql);
  if (isDry) return await sql.transaction((connection) => countUnused(connection, tables, store));
  const { rows } = await sql.query({ text: "select now()::text" });
  const before = rows[0]?.[0] ?? null;
  let [objects, bytes] = [0, 0];
  for (;;) {
    const found = await sql.transaction((connection) => findUnused(connection, tables, SETTLED_MS, store, before));
    for (let at = 0; at < found.unused.length; at += BATCH) {
      const batch = found.unused.slice(at, at + BATCH);
      const deleted = await sql.transaction((connection) => deleteLocked(connection, media, batch, SETTLED_MS));
      objects += deleted.objects;
      bytes += deleted.bytes;
    }
    if (found.is_last) return { objects, bytes };
  }
}

/** Bytes and number of the objects that a database has written, as far as they were not deleted. */
export async function readMediaUsage(
  sql: SqlConnection,
): Promise<{ readonly bytes: number; readonly objects: number }> {
  const { rows } = await sql.query({ text: "select coalesce(sum(bytes), 0), count(*) from appdb.media_objects" });
  const [bytes, objects] = rows[0] ?? [];
  return { bytes: Number(bytes), objects: Number(objects) };
}

/** The condition for an object `c` to have no use. */
function withoutUse(tables: readonly CatalogTable[]): string {
  const uses = [USED_BY_NAME, ...usesOf(tables).map(({ used }) => used)];
  return `not exists (select from held where held.key = c.key) ${uses.map((use) => `and not exists (${use})`).join(" ")}`;
}

async function countUnused(sql: SqlConnection, tables: readonly CatalogTable[], store: string): Promise<Pruned> {
  await sql.query({ text: "set local statement_timeout = 0" });
  const { rows } = await sql.query({
    text: `with candidates as materialized (
        select key, bytes from appdb.media_objects
        where put_at < now() - make_interval(secs => $1) and store = $2
      ), ${HELD}
      select count(*)::text, coalesce(sum(bytes), 0)::text from (
        select $2::text as store, key, bytes from candidates) as c where ${withoutUse(tables)}`,
    values: [String(SETTLED_MS / 1_000), store],
  });
  return { objects: Number(rows[0]?.[0]), bytes: Number(rows[0]?.[1]) };
}

/**
 * One scan of each table that has media, whatever the number of objects. `before`: objects that were looked up since then
 * are left out; otherwise those of the last day.
 */
async function findUnused(
  sql: SqlConnection,
  tables: readonly CatalogTable[],
  graceMs: number,
  onlyStore: string | undefined,
  before: string | null = null,
): Promise<{ readonly unused: readonly StoredKey[]; readonly is_last: boolean }> {
  await sql.query({ text: "set local statement_timeout = 0" });
  const { rows } = await sql.query({
    text: `with candidates as materialized (
        select store, key from appdb.media_objects
        where put_at < now() - make_interval(secs => $1)
          and coalesce(checked_at, '-infinity') < coalesce($5::timestamptz, now() - make_interval(secs => $2))
          and ($4::text is null or store = $4)
        order by checked_at nulls first, store, key limit $3
      ), ${HELD}, unused as (
        select store, key from candidates c where ${withoutUse(tables)}
      )
      select c.store, c.key, u.key is null from candidates c left join unused u on c.store = u.store and c.key = u.key`,
    values: [String(graceMs / 1_000), String(CHECKED_AGAIN_MS / 1_000), String(MAX_CHECKED), onlyStore ?? null, before],
  });
  const found = rows.map(([store, key, isUsed]) => ({
    store: String(store),
    key: String(key),
    isUsed: isUsed === "t",
  }));
  const used = found.filter(({ isUsed }) => isUsed);
  // Only now: the scan must not hold locks on records that inserts write.
  await sql.query({
    text: `update appdb.media_objects o set checked_at = now()
      from unnest($1::text[], $2::text[]) as given (store, key) where o.store = given.store and o.key = given.key`,
    values: [used.map(({ store }) => store), used.map(({ key }) => key)],
  });
  return { unused: found.filter(({ isUsed }) => !isUsed), is_last: found.length < MAX_CHECKED };
}

/** The columns whose cells refer to objects, each with a query for those of the object `c`. */
function usesOf(tables: readonly CatalogTable[]) {
  return tables.flatMap((table) =>
    table.columns
      .filter(({ type }) => isMedia(type.kind))
      .map(({ name: column }) => {
        const cell = `used.${quoteIdent(column)}`;
        return { table, column, used: `select from ${quoteTable(table)} as used where ${KEY_OF(cell)} = c.key` };
      }),
  );
}

/**
 * The key in a cell. A cell is the text of a reference (contract, media.ts). Not by `json`: one cell that PostgreSQL
 * refuses would end every collection. Quotes in other members are escaped, so that none looks like the key.
 */
const KEY_OF = (cell: string): string => `substring(${cell} from '"key":"([^"\\\\]+)"')`;

/** The keys in the requests of unfinished background jobs, and in results that can still be read. */
const HELD = `held as materialized (
        select found[1] as key from (
          select form as text from appdb.background where form is not null and state in ('queued', 'running')
          union all select result from appdb.background where position(E'\\x01' in result) > 0
        ) as job, regexp_matches(job.text, '[0-9a-f]{2}/[0-9a-f]{64}\\.[0-9a-z]+', 'g') as found
      )`;

/** A file that was given again since it was looked up stays. */
async function deleteLocked(
  sql: SqlConnection,
  media: Pick<MediaFiles, "remove">,
  keys: readonly StoredKey[],
  graceMs: number,
): Promise<Pruned> {
  const { rows } = await sql.query({
    text: `select o.store, o.key, o.bytes::text from appdb.media_objects o
      join unnest($1::text[], $2::text[]) as given (store, key) on o.store = given.store and o.key = given.key
      where o.put_at < now() - make_interval(secs => $3) for update of o skip locked`,
    values: [keys.map(({ store }) => store), keys.map(({ key }) => key), String(graceMs / 1_000)],
  });
  for (const store of new Set(rows.map(([name]) => String(name)))) {
    const objects = rows.filter(([name]) => name === store);
    await media.remove(
      store,
      objects.map(([, key]) => String(key)),
    );
  }
  await sql.query({
    text: `delete from appdb.media_objects o using unnest($1::text[], $2::text[]) as gone (store, key)
      where o.store = gone.store and o.key = gone.key`,
    values: [rows.map(([store]) => store), rows.map(([, key]) => key)],
  });
  return { objects: rows.length, bytes: rows.reduce((sum, [, , bytes]) => sum + Number(bytes), 0) };
}
