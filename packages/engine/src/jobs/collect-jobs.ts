import type { Clock, SqlConnection } from "../ports.ts";

/** Jobs that have ended are shown for so long; then nobody asks for them any more. */
export const KEEP_ENDED_JOBS_DAYS = 7;

/** Removes the jobs that ended longer ago. Gives how many jobs. */
export async function collectJobs(sql: SqlConnection, clock: Clock): Promise<number> {
  const before = new Date(clock.now() - KEEP_ENDED_JOBS_DAYS * 86_400_000).toISOString();
  const { row_count: rowCount } = await sql.query({
    text: "delete from appdb.jobs where ended_at < $1 and state in ('done', 'failed', 'cancelled')",
    values: [before],
  });
  return rowCount;
}
