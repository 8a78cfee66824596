import type { SqlConnection } from "@appdb/engine/ports";

/** How many clients are connected to the server, those that call themselves `own` left out. */
export async function countConnections(sql: SqlConnection, own: string): Promise<number> {
  const { rows } = await sql.query({
    text: `select count(*) from pg_stat_activity
      where backend_type = 'client backend' and application_name is distinct from $1`,
    values: [own],
  });
  return Number(rows[0]?.[0]);
}
