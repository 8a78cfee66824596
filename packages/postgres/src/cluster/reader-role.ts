import type { SqlConnection } from "@appdb/engine/ports";
import { quoteIdent } from "@appdb/engine/sql/quote";
import { lazyCrypto } from "@appdb/system/processes/lazy-crypto";
import { OWNER, READERS, scramVerifier } from "./cluster-access.ts";
import { withClient } from "./database-admin.ts";

/** Databases of a cluster share its roles: creating readers at the same time fails, and is tried again. */
const MAX_ATTEMPTS = 5;
const CONCURRENT = ["42710", "23505", "XX000", "40001", "40P01"];
/** The roles' names contain so much of a digest of the database's name. */
const DIGITS = 12;
/** Pools of two, and connections that are being closed. */
const CONNECTIONS = 6;
/** PostgreSQL's temporary files of one statement. */
export const READER_TEMP_MB = 256;

/** Settings of a reader's sessions. The superuser alone may change `temp_file_limit`. */
export const READER_SETTINGS = {
  default_transaction_read_only: "on",
  statement_timeout: "30s",
  lock_timeout: "10s",
  idle_in_transaction_session_timeout: "15min",
  temp_file_limit: `${READER_TEMP_MB}MB`,
  work_mem: "16MB",
  hash_mem_multiplier: "1",
  max_parallel_workers_per_gather: "0",
  client_connection_check_interval: "2s",
  // names of tables are those that the engine puts before the statement
  search_path: "",
  bytea_output: "hex",
};

/** Volatile functions without side effects, which people use. */
const HARMLESS = [
  "clock_timestamp",
  "gen_random_uuid",
  "pg_column_size",
  "pg_indexes_size",
  "pg_relation_size",
  "pg_table_size",
  "pg_total_relation_size",
  "random",
  "random_normal",
  "timeofday",
  "uuidv4",
  "uuidv7",
];
/** Functions that PostgreSQL calls stable, and that number transactions or run a text as a statement. */
const HARMFUL = [
  "pg_current_xact_id",
  "txid_current",
  "database_to_xml",
  "database_to_xml_and_xmlschema",
  "query_to_xml",
  "query_to_xml_and_xmlschema",
  "schema_to_xml",
  "table_to_xml",
  "ts_rewrite",
  "ts_stat",
];

/**
 * Everyone may call the functions of a new database, use its languages and make temporary tables. Here only the owner
 * may: volatile functions lock, sleep, notify, set what bounds a statement, and write large objects.
 */
const RESTRICT_EVERYONE = `
do $$
declare routines text;
begin
  select string_agg(p.oid::regprocedure::text, ', ') into routines from pg_proc p
    where p.pronamespace in (select oid from pg_namespace where nspname in ('pg_catalog', 'appdb'))
      and p.prokind in ('f', 'p') and p.prorettype <> 'trigger'::regtype
      and (p.provolatile = 'v' or p.proname in (${namesOf(HARMFUL)})) and p.proname not in (${namesOf(HARMLESS)})
      and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0);
  if routines is not null then
    execute 'grant execute on routine ' || routines || ' to ${OWNER}';
    execute 'revoke execute on routine ' || routines || ' from public';
  end if;
  if has_language_privilege('${READERS}', 'plpgsql', 'usage') then
    grant usage on language plpgsql to ${OWNER};
    revoke usage on language plpgsql from public;
  end if;
end
$$`;

/** A reader's name in PostgreSQL: each database of a cluster has its own. */
export function readerName(database: string): string {
  return `read_${digitsOf(database)}`;
}

/** What names of a database's roles end with. */
export function digitsOf(database: string): string {
  return lazyCrypto().createHash("sha256").update(database).digest("hex").slice(0, DIGITS);
}

/**
 * Creates the role that people's SQL runs as in a database, with its own login. It has no privileges but to connect to
 * this database: `grantTables` lets it read tables. `dsn` is the superuser's. Safe to repeat and to run concurrently.
 * @throws database_unavailable
 */
export async function ensureReaderRole(dsn: string, database: string, password: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await makeReader(dsn, database, password);
    } catch (error) {
      const code = (error as { readonly code?: unknown }).code;
      if (attempt === MAX_ATTEMPTS || !CONCURRENT.includes(String(code))) throw error;
    }
  }
}

async function makeReader(dsn: string, database: string, password: string): Promise<void> {
  const name = readerName(database);
  await withClient(dsn, async (client) => {
    await client.query("begin");
    for (const role of [READERS, name, OWNER]) {
      const { rowCount } = await client.query("select from pg_roles where rolname = $1", [role]);
      if (rowCount === 0) await client.query(`create role ${role}`);
    }
    await client.query(
      `alter role ${name} login nosuperuser nocreatedb nocreaterole noinherit noreplication nobypassrls
         connection limit ${CONNECTIONS} password '${scramVerifier(password)}'`,
    );
    // only pg_hba.conf reads the membership
    await client.query(`grant ${READERS} to ${name} with inherit false, set false`);
    for (const [setting, value] of Object.entries(READER_SETTINGS)) {
      await client.query(`alter role ${name} set ${setting} = '${value}'`);
    }
    const found = await client.query<{ name: string }>(
      `select datname as name from pg_database
         where datname in ($1, 'postgres', 'template1') and has_database_privilege('${READERS}', oid, 'connect')`,
      [database],
    );
    for (const other of found.rows) {
      await client.query(`grant connect on database ${quoteIdent(other.name)} to ${OWNER}`);
      await client.query(`revoke connect, temporary on database ${quoteIdent(other.name)} from public`);
    }
    await client.query(`grant connect on database ${quoteIdent(database)} to ${name}`);
    await client.query(RESTRICT_EVERYONE);
    // for operators of vectors; its tables stay closed
    await client.query(`grant usage on schema appdb to ${name}`);
    await client.query("commit");
  });
}

/** A table in PostgreSQL. */
interface StoredTable {
  readonly folder: string;
  readonly name: string;
}

/**
 * Lets a reader read these tables. A table keeps its grants when it is renamed or moved. `sql` is the owner's. Safe to
 * repeat; tables that are missing now are left out.
 */
export async function grantTables(sql: SqlConnection, database: string, tables: readonly StoredTable[]): Promise<void> {
  const reader = readerName(database);
  const { rows } = await sql.query({
    text: `select format('%I', n.nspname), format('%I.%I', n.nspname, c.relname)
      from json_to_recordset($2::json) as wanted(folder text, name text)
      join pg_namespace n on n.nspname = wanted.folder
      join pg_class c on c.relnamespace = n.oid and c.relname = wanted.name and c.relkind in ('r', 'p')
      where not (has_schema_privilege($1, n.oid, 'usage') and has_table_privilege($1, c.oid, 'select'))`,
    values: [reader, JSON.stringify(tables.map(({ folder, name }) => ({ folder, name })))],
  });
  if (rows.length === 0) return;
  const schemas = [...new Set(rows.map(([schema]) => schema))].join(", ");
  await sql.query({ text: `grant usage on schema ${schemas} to ${reader}` });
  await sql.query({ text: `grant select on table ${rows.map(([, table]) => table).join(", ")} to ${reader}` });
}

function namesOf(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(", ");
}
