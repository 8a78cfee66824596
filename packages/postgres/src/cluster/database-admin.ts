import { appError } from "@appdb/contract/errors";
import type { Client } from "pg";
import { DATABASE_OPTIONS } from "./init-cluster.ts";

/** PostgreSQL's code for a full disk. */
const NO_SPACE = "53100";
const CONNECT_TIMEOUT_MS = 5_000;
const DUPLICATE_DATABASE = "42P04";
/** With two concurrent CREATE DATABASE of one name, the loser may hit the catalog's unique index first. */
const UNIQUE_VIOLATION = "23505";

/** Whether a database exists on the server of `dsn` (any of its databases). */
export async function hasDatabase(dsn: string, database: string): Promise<boolean> {
  return await withClient(dsn, async (client) => {
    const found = await client.query("select 1 from pg_database where datname = $1", [database]);
    return found.rowCount === 1;
  });
}

/** Names of user databases, sorted. */
export async function listPostgresDatabases(dsn: string): Promise<readonly string[]> {
  return await withClient(dsn, async (client) => {
    const found = await client.query<{ datname: string }>(
      "select datname from pg_database where datallowconn and not datistemplate and datname <> 'postgres' order by 1",
    );
    return found.rows.map((row) => row.datname);
  });
}

/** Creates a database unless it exists. Its text orders and maps case as Python does. Safe to run concurrently. */
export async function createDatabase(dsn: string, database: string): Promise<void> {
  await withClient(dsn, (client) => createWith(client, database));
}

/** Drops a database if it exists, and ends its connections. `dsn` must be another database. */
export async function dropDatabase(dsn: string, database: string): Promise<void> {
  await withClient(dsn, async (client) => {
    await client.query(`drop database if exists ${client.escapeIdentifier(database)} with (force)`);
  });
}

/**
 * Creates a database as a copy of another one, with the same owner. PostgreSQL waits five seconds for its connections to
 * end. The copy passes through the write-ahead log: for small databases that is faster than two checkpoints. `dsn` must be a
 * third database.
 * @throws database_not_found, database_exists
 */
export async function copyDatabase(dsn: string, from: string, to: string): Promise<void> {
  await withClient(dsn, async (client) => {
    const text = "select pg_get_userbyid(datdba) as owner from pg_database where datname = $1";
    const owner = (await client.query<{ owner: string }>(text, [from])).rows[0]?.owner;
    if (owner === undefined) {
      throw appError("database_not_found", {
        detail: `There is no database '${from}' to copy.`,
        meta: { database: from },
      });
    }
    const [source, copy, role] = [from, to, owner].map((name) => client.escapeIdentifier(name));
    try {
      await client.query(`create database ${copy} template ${source} owner ${role} strategy wal_log`);
    } catch (cause) {
      if ((cause as { code?: unknown }).code !== DUPLICATE_DATABASE) throw cause;
      throw appError("database_exists", { detail: `The database '${to}' exists.`, meta: { database: to }, cause });
    }
  });
}

/** Renames a database. PostgreSQL waits five seconds for its connections to end. `dsn` must be another database. */
export async function renameDatabase(dsn: string, from: string, to: string): Promise<void> {
  await withClient(dsn, async (client) => {
    await client.query(`alter database ${client.escapeIdentifier(from)} rename to ${client.escapeIdentifier(to)}`);
  });
}

/** `createDatabase` over an open connection. */
export async function createWith(client: Client, database: string): Promise<void> {
  const found = await client.query("select 1 from pg_database where datname = $1", [database]);
  if (found.rowCount === 1) return;
  try {
    await client.query(`create database ${client.escapeIdentifier(database)} ${DATABASE_OPTIONS}`);
  } catch (error) {
    const sqlstate = (error as { code?: unknown }).code;
    if (sqlstate !== DUPLICATE_DATABASE && sqlstate !== UNIQUE_VIOLATION) throw error;
  }
}

/**
 * Opens one connection for the duration of `work`, which may be repeated.
 * @throws database_unavailable when the server is unreachable or goes away; SqlError without disk space
 */
export async function withClient<T>(dsn: string, work: (client: Client) => Promise<T>): Promise<T> {
  const pg = await import("pg");
  const client = new pg.default.Client({
    connectionString: dsn,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: "appdb admin",
  });
  // a lost idle connection raises this event; the next query reports it to the caller
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch (cause) {
    throw appError("database_unavailable", { detail: "PostgreSQL does not answer.", cause });
  }
  try {
    return await work(client);
  } catch (error) {
    const { isConnectionLost, statementError, unavailableError } = await import("../client/pg-errors.ts");
    if (error instanceof Error && "code" in error && error.code === NO_SPACE) throw statementError(error);
    throw isConnectionLost(error) || isBroken(error) ? unavailableError(error) : error;
  } finally {
    await client.end();
  }
}

/** Messages of the driver for a connection that was lost before or during a statement. */
function isBroken(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return / is not queryable$|^Connection terminated/.test(error.message) || ("syscall" in error && "code" in error);
}
