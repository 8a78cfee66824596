import type { SqlConnection } from "../ports.ts";

/** How many jobs of a database with a catalog have not ended. */
export async function countOpenJobs(sql: SqlConnection): Promise<number> {
  const { rows } = await sql.query({ text: "select count(*) from appdb.jobs where state in ('queued', 'running')" });
  return Number(rows[0]?.[0]);
}

/** What a name of PostgreSQL holds at most. */
const NAME_BYTES = 63;

/**
 * How many background jobs have not ended, of services that are there to work on them: whose connections are called `<prefix> <service>`
 * and among `names`.
 */
export async function countOpenBackground(
  sql: SqlConnection,
  prefix: string,
  names: readonly string[],
): Promise<number> {
  const { rows } = await sql.query({
    text: `select count(*) from appdb.background
      where state in ('queued', 'running') and left($1 || ' ' || service, ${NAME_BYTES}) = any($2::text[])`,
    values: [prefix, names],
  });
  return Number(rows[0]?.[0]);
}
