import { hashOfKey, isObjectKey } from "@appdb/contract/media-uri";
import type { SqlConnection, SqlPool } from "../ports.ts";
import { readMediaUse } from "./media-objects.ts";

/** A file of a media store, by the name that a person gave it or by its key. */
export interface NamedFile {
  readonly name: string;
  readonly key: string;
  readonly bytes: number;
  /** The media type. */
  readonly type: string;
}

/** A file, or a folder with everything in it. */
export interface ListedFile {
  readonly name: string;
  readonly is_folder: boolean;
  readonly files: number;
  readonly bytes: number;
  readonly type: string | null;
  readonly sha256: string | null;
  /** ISO 8601. */
  readonly updated_at: string;
}

export interface ListNames {
  /** A file or a folder, without slashes at its ends. Empty: all. */
  readonly name: string;
  readonly is_deep: boolean;
  /** Objects by their keys, in place of named files. */
  readonly objects: boolean;
  /** Continues after this entry. */
  readonly after: string;
  readonly limit: number;
}

const NAMED = `select f.name, o.bytes, f.type, f.updated_at, f.key
  from appdb.media_files f join appdb.media_objects o using (store, key) where f.store = $1`;
/** Objects have no stored type: the extension of the key says it. */
const OBJECTS = `select o.key collate "C" as name, o.bytes, null as type, o.put_at as updated_at, o.key
  from appdb.media_objects o where o.store = $1`;
const TIME = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;

/** Behind every name of a folder: with it, a folder is a range of the index. */
const LAST = "chr(1114111)";

/** Names of the files that people put into a media store. Each is one of the store's objects. */
export class MediaNames {
  readonly #sql: SqlPool;
  readonly #store: string;

  constructor(sql: SqlPool, store: string) {
    this.#sql = sql;
    this.#store = store;
  }

  /** A page in the order of the names' bytes; `next` continues it. @throws database_unavailable */
  async list({ after, is_deep: isDeep, limit, name, objects }: ListNames) {
    const folder = name === "" ? "" : `${name}/`;
    // the entry below the folder that a file belongs to: itself, or the folder that it is in
    const entry = isDeep
      ? "name"
      : `case when name = $2 then name else $3 || split_part(substr(name, length($3) + 1), '/', 1)
          || case when position('/' in substr(name, length($3) + 1)) > 0 then '/' else '' end end`;
    const { rows } = await this.#sql.query({
      text: `select entry, count(*)::text, sum(bytes)::text, max(type), max(key),
          to_char(max(updated_at) at time zone 'UTC', ${TIME})
        from (select (${entry}) collate "C" as entry, bytes, type, key, updated_at from (${objects ? OBJECTS : NAMED}) as of_store
          where (name = $2 or starts_with(name, $3)) and name >= $2 and name <= $3 || ${LAST}) as entries
        where entry > $4 group by entry order by entry limit $5`,
      values: [this.#store, name, folder, after, String(limit + 1)],
    });
    const items = rows.slice(0, limit).map(toListed);
    return { items, next: rows.length > limit ? String(rows[limit - 1]?.[0]) : null };
  }

  /** The sizes of a folder: its files by name. @throws database_unavailable */
  async usage(name: string): Promise<{ readonly files: number; readonly bytes: number }> {
    const { rows } = await this.#sql.query({
      text: `select count(*)::text, coalesce(sum(bytes), 0)::text from (${NAMED}) as named
        where name = $2 or starts_with(name, $3)`,
      values: [this.#store, name, name === "" ? "" : `${name}/`],
    });
    return { files: Number(rows[0]?.[0]), bytes: Number(rows[0]?.[1]) };
  }

  /** Number of names. @throws database_unavailable */
  async count(): Promise<number> {
    const { rows } = await this.#sql.query({ text: "select count(*)::text from appdb.media_files" });
    return Number(rows[0]?.[0]);
  }

  /** The files of names, or of keys; those that are missing are left out. @throws database_unavailable */
  async find(names: readonly string[]): Promise<NamedFile[]> {
    const { rows } = await this.#sql.query({
      text: `select name, key, bytes::text, coalesce(type, '') from (${NAMED}) as named where name = any($2::text[])
        union all select name, key, bytes::text, '' from (${OBJECTS}) as objects where name = any($2::text[])`,
      values: [this.#store, names],
    });
    return rows.map(([name, key, bytes, type]) => ({
      name: String(name),
      key: String(key),
      bytes: Number(bytes),
      type: String(type),
    }));
  }

  /** The key of an object by its content. @throws database_unavailable */
  async findContent(sha256: string): Promise<{ readonly key: string; readonly bytes: number } | undefined> {
    const prefix = `${sha256.slice(0, 2)}/${sha256}.`;
    const { rows } = await this.#sql.query({
      text: `select key, bytes::text from appdb.media_objects
        where store = $1 and key >= $2 and key < $3 order by key limit 1`,
      values: [this.#store, prefix, `${prefix}~`],
    });
    const [key, bytes] = rows[0] ?? [];
    return key == null ? undefined : { key, bytes: Number(bytes) };
  }

  /**
   * Gives an object a name, which loses its previous object. The object was recorded. False if `only_new` and the name
   * is taken. @throws database_unavailable
   */
  async give({ key, name, type }: Omit<NamedFile, "bytes">, onlyNew: boolean): Promise<boolean> {
    const { row_count: count } = await this.#sql.query({
      text: `insert into appdb.media_files (name, store, key, type, updated_at) values ($1, $2, $3, $4, now())
        on conflict (name) do ${onlyNew ? "nothing" : "update set store = $2, key = $3, type = $4, updated_at = now()"}`,
      values: [name, this.#store, key, type],
    });
    return count > 0;
  }

  /** Removes names, and all names in a folder. Returns those that were removed. @throws database_unavailable */
  async remove(names: readonly string[], folder: string | undefined): Promise<readonly RemovedName[]> {
    const { rows } = await this.#sql.query({
      // the next collection looks at their objects again
      text: `with gone as (
          delete from appdb.media_files where store = $1
            and (name = any($2::text[]) or ($3::text is not null and (name = $3 or starts_with(name, $4))))
          returning name, key
        ), looked_at as (
          update appdb.media_objects set checked_at = null where store = $1 and key in (select key from gone)
        ) select name, key from gone`,
      values: [this.#store, names, folder ?? null, folder === "" ? "" : `${folder ?? ""}/`],
    });
    return rows.map(([name, key]) => ({ name: String(name), key: String(key) }));
  }

  /** What the store holds, with equal content once. @throws database_unavailable */
  stored() {
    return readMediaUse(this.#sql, this.#store);
  }
}

export interface RemovedName {
  readonly name: string;
  readonly key: string;
}

/** Whether a name still refers to an object `c`: for `collectMedia`. */
export const USED_BY_NAME = "select from appdb.media_files as used where used.store = c.store and used.key = c.key";

/** The name that refers to an object, if any. */
export async function findNameOf(sql: SqlConnection, store: string, key: string): Promise<string | undefined> {
  const { rows } = await sql.query({
    text: "select name from appdb.media_files where store = $1 and key = $2 order by name limit 1",
    values: [store, key],
  });
  return rows[0]?.[0] ?? undefined;
}

function toListed([entry, files, bytes, type, key, updatedAt]: readonly (string | null)[]): ListedFile {
  const name = String(entry);
  const isFolder = name.endsWith("/");
  return {
    name: isFolder ? name.slice(0, -1) : name,
    is_folder: isFolder,
    files: Number(files),
    bytes: Number(bytes),
    type: isFolder ? null : (type ?? null),
    sha256: isFolder || !isObjectKey(String(key)) ? null : hashOfKey(String(key)),
    updated_at: String(updatedAt),
  };
}
