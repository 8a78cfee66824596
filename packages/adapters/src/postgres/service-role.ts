import type { SqlConnection, SqlPool } from "@appdb/engine/ports";

/** Of the lock under which roles come and go; any number, as long as it is this one. */
const LOCK = 5_178_301;

/**
 * Makes a role that logs in as itself, so that PostgreSQL tells one service from another, and works as the owner of the cluster: it
 * writes tables that the owner has made, their triggers run, and what it makes is the owner's. Safe to repeat and to race.
 * `role` is a plain identifier.
 */
export async function ensureServiceRole(sql: SqlPool, role: string): Promise<void> {
  await sql.transaction(async (connection) => {
    const { has_role, owner } = await lookAt(connection, role);
    if (!has_role) await connection.query({ text: `create role ${role} login` });
    await connection.query({ text: `grant ${owner} to ${role}` });
    await connection.query({ text: `alter role ${role} set role = ${owner}` });
  });
}

/** Removes such a role for good, and leaves to the cluster's owner what it owns. Safe to repeat; `role` is a plain identifier. */
export async function dropServiceRole(sql: SqlPool, role: string): Promise<void> {
  await sql.transaction(async (connection) => {
    const { has_role, owner } = await lookAt(connection, role);
    if (!has_role) return;
    // code that says SET ROLE NONE makes things of its own
    await connection.query({ text: `reassign owned by ${role} to ${owner}` });
    await connection.query({ text: `drop owned by ${role}` });
    await connection.query({ text: `drop role ${role}` });
  });
}

/** Under a lock until the transaction's end: two who grant at once would refuse each other. */
async function lookAt(connection: SqlConnection, role: string): Promise<{ has_role: boolean; owner: string }> {
  await connection.query({ text: `select pg_advisory_xact_lock(${LOCK})` });
  const { rows } = await connection.query({
    text: `select current_user, exists (select from pg_roles where rolname = $1)`,
    values: [role],
  });
  const [owner, has_role] = rows[0] ?? [];
  return { has_role: has_role === "t", owner: `"${String(owner).replaceAll('"', '""')}"` };
}
