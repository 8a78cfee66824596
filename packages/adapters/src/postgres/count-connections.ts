import type { SqlConnection } from "@appdb/engine/ports";

export interface FoundConnections {
  readonly others: number;
  /** Changes with every statement of those that were left out by their prefix; null when there are none. */
  readonly mark: string | null;
}

/** How many clients are connected to the server, those left out that call themselves `own` or begin with one of `prefixes`. */
export async function countConnections(
  sql: SqlConnection,
  own: string,
  prefixes: readonly string[],
): Promise<FoundConnections> {
  const { rows } = await sql.query({
    text: `select count(*) filter (where not is_left_out), max(state_change) filter (where is_left_out)
      from (
        select state_change, exists (
          select from unnest($2::text[]) as prefix where starts_with(application_name, prefix)
        ) as is_left_out
        from pg_stat_activity
        where backend_type = 'client backend' and application_name is distinct from $1
      ) as clients`,
    values: [own, prefixes],
  });
  const [others, mark] = rows[0] ?? [];
  return { others: Number(others), mark: mark == null ? null : String(mark) };
}
