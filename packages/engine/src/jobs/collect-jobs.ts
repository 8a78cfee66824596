import type { Clock, SqlConnection } from "../ports.ts";

/** Ended jobs are listed for this many days. */
export const KEEP_ENDED_JOBS_DAYS = 7;

/** Removes the jobs that ended longer ago. Returns their number. */
export async function collectJobs(sql: SqlConnection, clock: Clock): Promise<number> {
  const before = new Date(clock.now() - KEEP_ENDED_JOBS_DAYS * 86_400_000).toISOString();
  const { row_count: rowCount } = await sql.query({
    text: "delete from appdb.jobs where ended_at < $1 and state in ('done', 'failed', 'cancelled')",
    values: [before],
  });
  return rowCount;
}
