import type { OpenJob } from "@appdb/contract/plan";
import { shownNames } from "../catalog/sql-names.ts";
import type { SqlConnection } from "../ports.ts";

/** Unfinished work of updates on tables, oldest first: columns being computed and indexes being built. */
export async function listOpenJobs(sql: SqlConnection, tableIds: readonly number[]): Promise<OpenJob[]> {
  const { rows } = await sql.query({
    text: `select json_build_object('id', j.id, 'kind', j.kind, 'table', j.table_name, 'columns', to_json(j.column_names),
        'rows_done', j.rows_done, 'rows_total', j.rows_total)
      from appdb.jobs j, appdb.state s
      where j.table_id = any($1::bigint[]) and j.state in ('queued', 'running') and j.incarnation = s.incarnation
        and j.kind in ('fill', 'recompute', 'build_index')
      order by j.seq`,
    values: [[...tableIds]],
  });
  return rows.map(([text]) => {
    const job = JSON.parse(text ?? "") as OpenJob;
    return { ...job, columns: shownNames(job.columns) };
  });
}
