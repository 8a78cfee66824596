import { quoteTable } from "@appdb/engine/sql/quote";
import type { Client } from "pg";
import { withClient } from "./database-admin.ts";

/** Objects with a lower number belong to PostgreSQL. */
const FIRST_OWN = 16_384;
/** Names of system catalogs that define a database, without `pg_class`, which is compared by its values. */
const BY_OID = [
  "attrdef",
  "cast",
  "collation",
  "constraint",
  "default_acl",
  "enum",
  "event_trigger",
  "extension",
  "namespace",
  "opclass",
  "operator",
  "policy",
  "proc",
  "publication",
  "rewrite",
  "statistic_ext",
  "trigger",
  "type",
];
/** Their tables, each with the column that names the object. */
const CATALOGS: readonly (readonly [catalog: string, key: string])[] = [
  ["pg_attribute", "attrelid"],
  ["pg_index", "indexrelid"],
  ["pg_sequence", "seqrelid"],
  ["pg_description", "objoid"],
  ...BY_OID.map((catalog) => [`pg_${catalog}`, "oid"] as const),
];
/** Values of `pg_class` that do not change when a table is emptied or analysed. */
const CLASS_VALUES = `oid, relname, relnamespace, reltype, relowner, relam, reltablespace, relpersistence, relkind, relnatts,
  relchecks, relhasrules, relhastriggers, relrowsecurity, relforcerowsecurity, relispartition, relacl, reloptions`;
const DEFINITIONS = [
  ...CATALOGS.map(
    ([catalog, key]) =>
      `select '${catalog}', count(*), max(xmin::text::bigint), sum(${key}::bigint) from pg_catalog.${catalog} where ${key} >= ${FIRST_OWN}`,
  ),
  `select 'pg_class', count(*), 0, sum(hashtextextended(row(${CLASS_VALUES})::text, 0)) from pg_catalog.pg_class
    where oid >= ${FIRST_OWN}`,
  `select 'pg_largeobject_metadata', count(*), max(xmin::text::bigint), sum(oid::bigint) from pg_catalog.pg_largeobject_metadata`,
].join(" union all ");
const TABLES = `select n.nspname as folder, c.relname as name from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and c.oid >= ${FIRST_OWN} and n.nspname !~ '^pg_' and pg_catalog.pg_relation_size(c.oid) > 0 order by 1, 2`;
const SEQUENCES = `select seqrelid::text as id, pg_catalog.pg_sequence_last_value(seqrelid)::text as last, seqstart::text as start
  from pg_catalog.pg_sequence where seqrelid >= ${FIRST_OWN} order by 1`;
const OTHERS = `select count(*)::int as count from pg_catalog.pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;

/** What a database contains, as far as `cleanDatabase` compares and restores it. */
export interface DatabaseMark {
  readonly definitions: string;
  /** What identifies the rows of each table with rows. */
  readonly rows: ReadonlyMap<string, string>;
  /** Last values of sequences by their numbers. Null: not used yet. */
  readonly sequences: ReadonlyMap<string, string | null>;
}

/** Reads the mark of a database that no one else uses. */
export async function markDatabase(dsn: string): Promise<DatabaseMark> {
  return await withClient(dsn, async (client) => {
    const definitions = await readDefinitions(client);
    const sequences = await readSequences(client);
    return {
      definitions,
      rows: await readRows(client, await listFilled(client)),
      sequences: new Map(sequences.map(({ id, last }) => [id, last])),
    };
  });
}

/**
 * Gives a database the contents that it had at its mark: it empties the tables that were empty and resets sequences. Returns false,
 * and then has changed nothing, if definitions or other rows have changed, or if someone is connected.
 */
export async function cleanDatabase(dsn: string, mark: DatabaseMark): Promise<boolean> {
  return await withClient(dsn, async (client) => {
    // a crash of the machine ends the process that the database belongs to
    await client.query("begin; set local synchronous_commit = off");
    const isClean = await clean(client, mark);
    await client.query(isClean ? "commit" : "rollback");
    return isClean;
  });
}

async function clean(client: Client, mark: DatabaseMark): Promise<boolean> {
  const others = await client.query<{ count: number }>(OTHERS);
  if (others.rows[0]?.count !== 0) return false;
  if ((await readDefinitions(client)) !== mark.definitions) return false;
  const filled = await listFilled(client);
  const added = filled.filter((table) => !mark.rows.has(table));
  if (added.length > 0) await client.query(`truncate ${added.join(", ")} cascade`);
  // read after TRUNCATE, which empties tables that refer to others
  const rows = await readRows(client, [...mark.rows.keys()]);
  if (![...mark.rows].every(([table, found]) => rows.get(table) === found)) return false;
  // no rollback undoes these
  for (const { id, last, start } of await readSequences(client)) {
    const before = mark.sequences.get(id);
    if (before !== undefined && last !== before)
      await client.query("select setval($1::oid::regclass, $2::bigint, $3)", [id, before ?? start, before !== null]);
  }
  return true;
}

async function readDefinitions(client: Client): Promise<string> {
  const { rows } = await client.query({ text: DEFINITIONS, rowMode: "array" });
  return JSON.stringify(rows);
}

async function listFilled(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ folder: string; name: string }>(TABLES);
  return rows.map(quoteTable);
}

async function readSequences(client: Client) {
  return (await client.query<{ id: string; last: string | null; start: string }>(SEQUENCES)).rows;
}

/** Each version of a row has a place and a transaction of its own. */
async function readRows(client: Client, tables: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  if (tables.length === 0) return found;
  const text = tables
    .map((table, at) => `select ${at}, count(*) || ' ' || sum(hashtextextended(ctid || ' ' || xmin, 0)) from ${table}`)
    .join(" union all ");
  const { rows } = await client.query<[number, string | null]>({ text, rowMode: "array" });
  for (const [at, value] of rows) found.set(tables[at] ?? "", value ?? "none");
  return found;
}
