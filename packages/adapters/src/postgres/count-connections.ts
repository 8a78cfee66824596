import type { SqlConnection } from "@appdb/engine/ports";

/** How many clients are connected to the server, those left out that call themselves `own` or begin with one of `prefixes`. */
export async function countConnections(sql: SqlConnection, own: string, prefixes: readonly string[]): Promise<number> {
  const { rows } = await sql.query({
    text: `select count(*) from pg_stat_activity
      where backend_type = 'client backend' and application_name is distinct from $1
        and not exists (select from unnest($2::text[]) as prefix where starts_with(application_name, prefix))`,
    values: [own, prefixes],
  });
  return Number(rows[0]?.[0]);
}
