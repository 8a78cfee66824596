import type { SqlConnection, SqlPool } from "@appdb/engine/ports";
import { lazyCrypto } from "@appdb/system/processes/lazy-crypto";
import { OWNER, scramVerifier } from "./cluster-access.ts";

/** Of the lock under which roles come and go; any number, as long as it is this one. */
const LOCK = 5_178_301;

/** A role of PostgreSQL that a service connects as. */
export interface ServiceRole {
  /** A plain identifier. */
  readonly name: string;
  readonly password: string;
}

/**
 * What a service shows for a password: made from the token of its database's pod, so that whoever knows that finds it, and a service
 * finds neither the token nor another's password.
 */
export function servicePassword(podToken: string, role: string): string {
  return lazyCrypto().createHmac("sha256", podToken).update(`postgres ${role}`).digest("base64url");
}

/**
 * Makes a role that logs in as itself, so that PostgreSQL tells one service from another, and works as the owner of the database: it
 * writes tables that the owner has made, their triggers run, and what it makes is the owner's. `sql` is the superuser's. Safe to repeat
 * and to race.
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

/** Removes such a role for good, and leaves to the owner what it owns. Safe to repeat; `name` is a plain identifier. */
export async function dropServiceRole(sql: SqlPool, name: string): Promise<void> {
  await sql.transaction(async (connection) => {
    if (!(await hasRole(connection, name))) return;
    // code that says SET ROLE NONE makes things of its own
    await connection.query({ text: `reassign owned by ${name} to ${OWNER}` });
    await connection.query({ text: `drop owned by ${name}` });
    await connection.query({ text: `drop role ${name}` });
  });
}

/** Under a lock until the transaction's end: two who grant at once would refuse each other. */
async function hasRole(connection: SqlConnection, name: string): Promise<boolean> {
  await connection.query({ text: `select pg_advisory_xact_lock(${LOCK})` });
  const { rows } = await connection.query({
    text: `select exists (select from pg_roles where rolname = $1)`,
    values: [name],
  });
  return rows[0]?.[0] === "t";
}
