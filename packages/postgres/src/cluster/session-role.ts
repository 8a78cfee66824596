import { randomBytes } from "node:crypto";
import { SESSION_PREFIX } from "@appdb/engine/catalog/reader-connections";
import type { Client } from "pg";
import type { Backend, LostBackends } from "../client/lost-backends.ts";
import { scramVerifier } from "./cluster-access.ts";
import { withClient } from "./database-admin.ts";
import { digitsOf, READER_SETTINGS, readerName } from "./reader-role.ts";

const NAME_BYTES = 6;
/** A role outlives its session for so long at most if it is not dropped. */
const SPARE_MS = 600_000;

/** Wait for the lock on a role that is dropped. */
const ROLE_LOCK_MS = 2_000;
const LOCK_NOT_AVAILABLE = "55P03";
const MAX_ATTEMPTS = 5;

export interface SessionRole {
  readonly name: string;
  readonly password: string;
}

export interface SessionRoleInput {
  readonly database: string;
  readonly password: string;
  readonly ends_at: Date;
  readonly connections: number;
  /** Schemas whose tables need no schema before their name. */
  readonly schemas: readonly string[];
  /** Whether it has the rights of `writerName` in addition to those of the database's reader. */
  readonly writes: boolean;
}

/** Group of all sessions: they may change their own settings, and call what psql calls to show tables. */
const SESSIONS = "appdb_sessions";
const CALLED = ["set_config(text, text, boolean)", "pg_partition_ancestors(regclass)", "pg_partition_tree(regclass)"];

/** Creates that group, with its rights in the database of `dsn`, the superuser's. Safe to repeat. @throws database_unavailable */
export async function ensureSessionGroup(dsn: string): Promise<void> {
  await withClient(dsn, async (client) => {
    const { rowCount } = await client.query("select from pg_roles where rolname = $1", [SESSIONS]);
    if (rowCount === 0) await client.query(`create role ${SESSIONS} nologin`);
    for (const routine of CALLED.map((one) => `pg_catalog.${one}`)) {
      const found = await client.query<{ may: boolean }>("select has_function_privilege($1, $2, 'execute') as may", [
        SESSIONS,
        routine,
      ]);
      if (found.rows[0]?.may !== true) await client.query(`grant execute on function ${routine} to ${SESSIONS}`);
    }
  });
}

/** The group with the rights to write rows of a database. */
export function writerName(database: string): string {
  return `write_${digitsOf(database)}`;
}

/** Creates that group. Safe to repeat. `dsn` is the superuser's. @throws database_unavailable */
export async function ensureWriterRole(dsn: string, database: string): Promise<void> {
  await withClient(dsn, async (client) => {
    const name = writerName(database);
    const { rowCount } = await client.query("select from pg_roles where rolname = $1", [name]);
    if (rowCount === 0) await client.query(`create role ${name} nologin`);
  });
}

/**
 * Creates a role with the rights of the database's reader (reader-role.ts), for one session. It can neither become the
 * reader nor give its rights to others. `dsn` is the superuser's.
 * @throws database_unavailable
 */
export async function createSessionRole(dsn: string, input: SessionRoleInput): Promise<SessionRole> {
  const { connections, database, ends_at: endsAt, password, schemas, writes } = input;
  const name = `${SESSION_PREFIX}${digitsOf(database)}_${randomBytes(NAME_BYTES).toString("hex")}`;
  const validUntil = new Date(endsAt.getTime() + SPARE_MS).toISOString();
  const { default_transaction_read_only: readOnly, ...settings } = READER_SETTINGS;
  await withClient(dsn, async (client) => {
    await client.query("begin");
    await client.query(
      `create role ${name} login nosuperuser nocreatedb nocreaterole inherit noreplication nobypassrls
         connection limit ${connections} password '${scramVerifier(password)}' valid until '${validUntil}'`,
    );
    const groups = [SESSIONS, readerName(database), ...(writes ? [writerName(database)] : [])];
    await client.query(`grant ${groups.join(", ")} to ${name} with inherit true, set false`);
    const own = {
      ...settings,
      // without it, a full disk still refuses writes
      ...(writes ? {} : { default_transaction_read_only: readOnly }),
      idle_in_transaction_session_timeout: "5min",
      // what a session can make PostgreSQL log, such as the plan of each statement, would fill the disk
      log_min_messages: "fatal",
    };
    for (const [setting, value] of Object.entries(own)) {
      if (setting !== "search_path") await client.query(`alter role ${name} set ${setting} = '${value}'`);
    }
    const path = schemas.map((schema) => client.escapeIdentifier(schema)).join(", ");
    await client.query(`alter role ${name} set search_path = ${path}`);
    await client.query("commit");
  });
  return { name, password };
}

/**
 * Ends the connections of a session's role and drops it. Safe to repeat. `dsn` is the superuser's, in its database. `lost`
 * counts the connections that do not end.
 */
export async function dropSessionRole(dsn: string, name: string, lost: Pick<LostBackends, "add">): Promise<void> {
  await withClient(dsn, (client) => dropWith(client, name, lost));
}

/** Drops the roles of sessions of a database that are not `live`, after a crash. Returns their names. */
export async function dropOtherSessionRoles(
  dsn: string,
  database: string,
  live: readonly string[],
  lost: Pick<LostBackends, "add">,
): Promise<readonly string[]> {
  return await withClient(dsn, async (client) => {
    const found = await client.query<{ rolname: string }>(
      "select rolname from pg_roles where starts_with(rolname, $1) and rolname <> all ($2::text[])",
      [`${SESSION_PREFIX}${digitsOf(database)}_`, live],
    );
    const names = found.rows.map(({ rolname }) => rolname);
    for (const name of names) await dropWith(client, name, lost);
    return names;
  });
}

/** Ends connections of sessions whose statement or transaction is open for longer. Returns how many. */
export async function endLongTransactions(dsn: string, database: string, minutes: number): Promise<number> {
  return await withClient(dsn, async (client) => {
    const { rowCount } = await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where starts_with(usename, $1)
         and least(xact_start, case when state = 'active' then query_start end) < now() - make_interval(mins => $2)`,
      [`${SESSION_PREFIX}${digitsOf(database)}_`, minutes],
    );
    return rowCount ?? 0;
  });
}

async function dropWith(client: Client, name: string, lost: Pick<LostBackends, "add">): Promise<void> {
  const { rowCount } = await client.query("select from pg_roles where rolname = $1", [name]);
  if (rowCount === 0) return;
  await client.query(`set lock_timeout = ${ROLE_LOCK_MS}`);
  let deaf: readonly string[] = [];
  for (let attempt = 1; ; attempt += 1) {
    // A connection can hold the lock on its role, by a change of its password: it ends before the role is changed.
    deaf = await endConnections(client, name, []);
    try {
      // no new connections from here
      await client.query(`alter role ${name} nologin`);
      break;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || (error as { readonly code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
    }
  }
  deaf = await endConnections(client, name, deaf);
  // a role can set privileges of its future objects, which prevent the drop
  await client.query(`drop owned by ${name}`);
  await client.query(`drop role if exists ${name}`);
  const ask = async (text: string, values: readonly unknown[]) => (await client.query<Backend>(text, [...values])).rows;
  for (const pid of deaf) await lost.add(pid, ask);
}

/** Ends connections. Returns those that did not end; `deaf` are such ones of an earlier call. */
async function endConnections(client: Client, name: string, deaf: readonly string[]): Promise<readonly string[]> {
  const others = "pg_stat_activity where usename = $1 and pid <> all ($2::int[])";
  await client.query(`select pg_terminate_backend(pid) from ${others}`, [name, deaf]);
  await client.query(`select pg_terminate_backend(pid, 5000) from ${others}`, [name, deaf]);
  const left = await client.query<{ pid: string }>("select pid::text from pg_stat_activity where usename = $1", [name]);
  return left.rows.map(({ pid }) => pid);
}
