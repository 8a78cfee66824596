import type { SqlConnection } from "../ports.ts";

/** Number of unfinished jobs in a database with a catalog. */
export async function countOpenJobs(sql: SqlConnection): Promise<number> {
  const { rows } = await sql.query({ text: "select count(*) from appdb.jobs where state in ('queued', 'running')" });
  return Number(rows[0]?.[0]);
}

/** Maximum bytes of a PostgreSQL name. */
const NAME_BYTES = 63;

/**
 * Number of unfinished background jobs of running services. These have connections named `<prefix> <service>` among
 * `names`.
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
