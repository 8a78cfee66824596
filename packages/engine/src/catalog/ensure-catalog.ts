import { appError } from "@appdb/contract/errors";
import { VERSION } from "@appdb/contract/version";
import { type SqlConnection, SqlError, type SqlPool } from "../ports.ts";

/** A numbered step of a schema of ours, as its file says (packages/postgres, `readMigrations`). Steps only go forward. */
export interface Migration {
  readonly number: number;
  /** Of the file. */
  readonly name: string;
  /** An older version of the product cannot work on a database with this step: it fails with `catalog_too_new`. */
  readonly is_breaking: boolean;
  readonly sql: string;
}

const OLDEST_POSTGRES = 18;
/** A constant for all versions: every starting process takes this lock before it reads the catalog's format. */
const CATALOG_LOCK = 7_261_944_015;
/** A pool may have a timeout for requests; steps over large tables can take longer. */
const NO_TIME_LIMIT = "set local statement_timeout = 0";

/** Refuses a server that the engine cannot use: older than PostgreSQL 18, without pgvector, or not in UTF-8.
 *  @throws postgres_unsupported */
export async function checkServer(sql: SqlConnection): Promise<void> {
  const { rows } = await sql.query({
    text: `select current_setting('server_version_num'), current_setting('server_version'),
      exists (select from pg_catalog.pg_available_extensions where name = 'vector'), pg_catalog.getdatabaseencoding()`,
  });
  const [number, version, hasVector, encoding] = rows[0] ?? [];
  if (Number(number) < OLDEST_POSTGRES * 10_000) {
    throw appError("postgres_unsupported", {
      detail: `The server is PostgreSQL ${version}; version ${OLDEST_POSTGRES} or newer is required.`,
      hint: `Use a PostgreSQL ${OLDEST_POSTGRES} server, or unset SERVICE_LOCAL_DATABASE_URL to use the one that comes with the product.`,
      meta: { server_version: version },
    });
  }
  if (hasVector !== "t") {
    throw appError("postgres_unsupported", {
      detail: `The server (PostgreSQL ${version}) lacks the extension pgvector ("vector").`,
      hint: "Install pgvector on the server, for example the Debian package postgresql-18-pgvector.",
      meta: { server_version: version, missing_extension: "vector" },
    });
  }
  if (encoding !== "UTF8") {
    throw appError("postgres_unsupported", {
      detail: `The database's encoding is ${encoding}; UTF8 is required.`,
      hint: "Create the database with: create database ... template template0 encoding 'UTF8'",
      meta: { encoding },
    });
  }
}

/** The format that these migrations give a catalog. `EmbeddedPostgres` compares it with a cluster's before an upgrade. */
export function catalogFormat(migrations: readonly Migration[]) {
  return { newest: newestOf(migrations), table: "appdb.migrations", column: "id" } as const;
}

/** Upgrades the database's catalog to this version's format, completely or not at all. Any number of processes may
 *  call it at once. If nothing is pending, it costs one query. Each step inserts its number first.
 *  @throws catalog_too_new, upgrade_failed with the reason, postgres_unsupported, database_unavailable */
export async function ensureCatalog(sql: SqlPool, migrations: readonly Migration[]): Promise<void> {
  if ((await appliedFormat(sql, migrations)) === newestOf(migrations)) return;
  await checkServer(sql);
  // One transaction for all steps: the previous version can use the database until the last step is done.
  await sql.transaction(async (connection) => {
    await connection.query({ text: "select pg_advisory_xact_lock($1)", values: [CATALOG_LOCK] });
    await connection.query({
      text: `create schema if not exists appdb;
        create table if not exists appdb.migrations (
          id int primary key, breaking boolean not null, product_version text not null,
          applied_at timestamptz not null default now())`,
    });
    for (const migration of migrations) await applyMigration(connection, migration);
  }, NO_TIME_LIMIT);
}

async function applyMigration(connection: SqlConnection, migration: Migration): Promise<void> {
  const inserted = await connection.query({
    text: "insert into appdb.migrations (id, breaking, product_version) values ($1, $2, $3) on conflict do nothing",
    values: [migration.number, migration.is_breaking, VERSION],
  });
  if (inserted.row_count === 0) return;
  try {
    await connection.query({ text: migration.sql });
  } catch (cause) {
    if (!(cause instanceof SqlError)) throw cause;
    throw appError("upgrade_failed", {
      detail: `Step ${migration.number} of the upgrade to version ${VERSION} failed: ${cause.message}. Nothing was changed.`,
      hint: "Start the previous version again; it works as before. For other options, see docs/upgrades.md",
      meta: { step: migration.number, version: VERSION, sqlstate: cause.sqlstate },
      cause,
    });
  }
}

/** Upgrades the catalog of a database that has one; other databases stay the same. @throws as ensureCatalog */
export async function upgradeCatalog(sql: SqlPool, migrations: readonly Migration[]): Promise<void> {
  if ((await appliedFormat(sql, migrations)) > 0) await ensureCatalog(sql, migrations);
}

/** Whether the database's catalog has this version's format; true without a catalog. @throws catalog_too_new,
 *  database_unavailable */
export async function isCatalogCurrent(sql: SqlConnection, migrations: readonly Migration[]): Promise<boolean> {
  const format = await appliedFormat(sql, migrations);
  return format === 0 || format === newestOf(migrations);
}

function newestOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0;
}

/** Number of the database's newest step; 0 without a catalog. Unknown newer steps are refused when breaking. */
async function appliedFormat(sql: SqlConnection, migrations: readonly Migration[]): Promise<number> {
  const known = await sql.query({ text: "select to_regclass('appdb.migrations') is not null" });
  if (known.rows[0]?.[0] !== "t") return 0;
  const ours = newestOf(migrations);
  const { rows } = await sql.query({
    text: `select coalesce(max(id) filter (where id <= $1), 0), max(id) filter (where id > $1 and breaking),
      (select product_version from appdb.migrations order by id desc limit 1) from appdb.migrations`,
    values: [ours],
  });
  const [applied, tooNew, madeBy] = rows[0] ?? [];
  if (tooNew !== null && tooNew !== undefined) {
    throw appError("catalog_too_new", {
      detail: `The database was written by version ${madeBy} (catalog format ${tooNew}); this is version ${VERSION} (catalog format ${ours}).`,
      hint: `Upgrade this installation: pip install --upgrade 'appdb[serve]>=${madeBy}'`,
      meta: { database_version: madeBy, version: VERSION, catalog_format: Number(tooNew) },
    });
  }
  return Number(applied);
}
