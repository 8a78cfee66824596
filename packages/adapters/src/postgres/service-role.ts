import type { SqlPool } from "@appdb/engine/ports";

/** Of the lock under which roles are made; any number, as long as it is this one. */
const LOCK = 5_178_301;

/**
 * Makes a role that logs in as itself, so that PostgreSQL tells one service from another, and works as the owner of the cluster: it
 * writes tables that the owner has made, their triggers run, and what it makes is the owner's. Safe to repeat and to race.
 * `role` is a plain identifier.
 */
export async function ensureServiceRole(sql: SqlPool, role: string): Promise<void> {
  await sql.transaction(async (connection) => {
    // two who grant at once would refuse each other
    await connection.query({ text: `select pg_advisory_xact_lock(${LOCK})` });
    const { rows } = await connection.query({
      text: `select current_user, exists (select from pg_roles where rolname = $1)`,
      values: [role],
    });
    const [owner, has_role] = rows[0] ?? [];
    const owner_name = `"${String(owner).replaceAll('"', '""')}"`;
    if (has_role !== "t") await connection.query({ text: `create role ${role} login` });
    await connection.query({ text: `grant ${owner_name} to ${role}` });
    await connection.query({ text: `alter role ${role} set role = ${owner_name}` });
  });
}
