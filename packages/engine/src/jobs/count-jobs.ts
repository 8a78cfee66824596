import type { SqlConnection } from "../ports.ts";

/** How many jobs of a database with a catalog have not ended. */
export async function countOpenJobs(sql: SqlConnection): Promise<number> {
  const { rows } = await sql.query({ text: "select count(*) from appdb.jobs where state in ('queued', 'running')" });
  return Number(rows[0]?.[0]);
}
