import type { SqlConnection, SqlPool } from "@appdb/engine/ports";
import { lazyCrypto } from "@appdb/system/processes/lazy-crypto";
import { OWNER, scramVerifier } from "./cluster-access.ts";

/** Fixed advisory lock number for creating and dropping roles. */
const LOCK = 5_178_301;

/** PostgreSQL role of a service. */
export interface ServiceRole {
  /** A plain identifier. */
  readonly name: string;
  readonly password: string;
}

/**
 * Password of a service, derived from its database pod's token. The token's owner can derive it; a service can derive
 * neither the token nor another password.
 */
export function servicePassword(podToken: string, role: string): string {
  return lazyCrypto().createHmac("sha256", podToken).update(`postgres ${role}`).digest("base64url");
}

/**
 * Creates a role with its own login, so that PostgreSQL distinguishes services, and with the rights of the database
 * owner. It can write the owner's tables, their triggers run, and its new objects belong to the owner. `sql` is the
 * superuser's. Safe to repeat and to run concurrently.
 */
export async function ensureServiceRole(sql: SqlPool, { name, password }: ServiceRole): Promise<void> {
  await sql.transaction(async (connection) => {
    if (!(await hasRole(connection, name))) await connection.query({ text: `create role ${name}` });
    await connection.query({ text: `grant ${OWNER} to ${name}` });
    await connection.query({
      text: `alter role ${name} login nosuperuser nocreatedb nocreaterole password '${scramVerifier(password)}'`,
    });
    await connection.query({ text: `alter role ${name} set role = ${OWNER}` });
  });
}

/** Drops such a role and gives its objects to the owner. Safe to repeat; `name` is a plain identifier. */
export async function dropServiceRole(sql: SqlPool, name: string): Promise<void> {
  await sql.transaction(async (connection) => {
    if (!(await hasRole(connection, name))) return;
    // code that runs SET ROLE NONE creates objects of its own
    await connection.query({ text: `reassign owned by ${name} to ${OWNER}` });
    await connection.query({ text: `drop owned by ${name}` });
    await connection.query({ text: `drop role ${name}` });
  });
}

/** Takes a lock until the transaction ends, because concurrent grants fail. */
async function hasRole(connection: SqlConnection, name: string): Promise<boolean> {
  await connection.query({ text: `select pg_advisory_xact_lock(${LOCK})` });
  const { rows } = await connection.query({
    text: `select exists (select from pg_roles where rolname = $1)`,
    values: [name],
  });
  return rows[0]?.[0] === "t";
}
