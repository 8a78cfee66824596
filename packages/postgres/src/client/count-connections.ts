import type { SqlConnection } from "@appdb/engine/ports";

export interface FoundConnections {
  readonly others: number;
  /** Changes with each statement of the excluded connections; null when there are none. */
  readonly mark: string | null;
  /** Application names of the other connections. */
  readonly names: readonly string[];
}

/** Counts the server's client connections, except those with a name that begins with `own` or `prefix`. */
export async function countConnections(sql: SqlConnection, own: string, prefix: string): Promise<FoundConnections> {
  const { rows } = await sql.query({
    text: `select count(*) filter (where not is_left_out), max(state_change) filter (where is_left_out),
        coalesce(json_agg(distinct application_name) filter (where is_left_out), '[]')
      from (
        select state_change, application_name, starts_with(coalesce(application_name, ''), $2) as is_left_out
        from pg_stat_activity
        where backend_type = 'client backend' and not starts_with(coalesce(application_name, ''), $1)
      ) as clients`,
    values: [own, prefix],
  });
  const [others, mark, names] = rows[0] ?? [];
  return { others: Number(others), mark: mark == null ? null : String(mark), names: JSON.parse(String(names)) };
}
