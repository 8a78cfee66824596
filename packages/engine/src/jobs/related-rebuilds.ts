import type { CatalogTable } from "../catalog/catalog.ts";
import { isShadow } from "../catalog/shadow-columns.ts";
import type { SqlConnection } from "../ports.ts";
import type { Job, JobError } from "./job-store.ts";

/** Jobs of the same update that compute a view over made rows again, or the view that makes them. */
export interface RelatedRebuilds {
  /** Jobs that have not ended, with the names of their tables. They stop with the failed one. */
  readonly open: readonly { readonly id: string; readonly table: string }[];
  /** Tables whose views have their new rows. */
  readonly done: readonly string[];
}

/** Finds the rebuilds of the update of a job. Jobs of one update have one time of creation: that of its transaction. */
export async function findRelatedRebuilds(
  sql: SqlConnection,
  tables: readonly CatalogTable[],
  job: Pick<Job, "id" | "table_id" | "column_ids">,
): Promise<RelatedRebuilds> {
  const table = tables.find(({ id }) => id === job.table_id);
  const others = table === undefined || !isRebuild(table, job.column_ids) ? [] : tablesOfRows(tables, table);
  if (others.length === 0) return { open: [], done: [] };
  const { rows } = await sql.query({
    text: `select json_build_object('id', o.id, 'table_id', o.table_id, 'table', o.table_name, 'state', o.state,
        'column_ids', to_json(o.column_ids))
      from appdb.jobs o, appdb.jobs j
      where j.id = $1 and o.created_at = j.created_at and o.kind in ('fill', 'recompute') and o.undoing is null
        and o.table_id = any($2::bigint[]) and o.state in ('queued', 'running', 'done')
      order by o.seq`,
    values: [job.id, others.map(({ id }) => id)],
  });
  const found = rows.map(([text]) => JSON.parse(text ?? "") as FoundJob);
  return {
    open: found.filter((one) => {
      const other = others.find(({ id }) => id === one.table_id);
      return one.state !== "done" && other !== undefined && isRebuild(other, one.column_ids);
    }),
    done: found.flatMap((one) => (one.state === "done" ? [one.table] : [])),
  };
}

interface FoundJob extends Pick<Job, "id" | "table_id" | "column_ids"> {
  readonly table: string;
  readonly state: string;
}

function isRebuild({ columns }: CatalogTable, ids: readonly number[]): boolean {
  return columns.some((column) => ids.includes(column.id) && isShadow(column));
}

/** The other tables of a chain in which the rows of one make those of the next. */
function tablesOfRows(tables: readonly CatalogTable[], table: CatalogTable): readonly CatalogTable[] {
  const makes = (base: CatalogTable, view: CatalogTable): boolean =>
    base.folder === view.folder && view.rows_of?.table === base.name;
  // Grows while it is visited.
  const found = new Set([table]);
  for (const one of found) {
    for (const other of tables) if (makes(one, other) || makes(other, one)) found.add(other);
  }
  return [...found].filter((other) => other !== table);
}

/** The error of a failed rebuild, which also says what became of the related ones. */
export function withRelated(error: JobError, { open, done }: RelatedRebuilds): JobError {
  const stopped = open.map(({ table }) => table);
  const said = [
    ...(done.length === 0
      ? []
      : [`The job of the same update on ${done.join(", ")} has ended before: its views have their new rows.`]),
    ...(stopped.length === 0 ? [] : [`The job of the same update on ${stopped.join(", ")} stops, too.`]),
  ];
  return { ...error, detail: [error.detail, ...said].join(" ") };
}

/** Ends related rebuilds with the error of the failed one: any runner drops what they have computed. */
export async function stopRelated(
  sql: SqlConnection,
  job: Job,
  error: JobError,
  { open }: RelatedRebuilds,
): Promise<void> {
  for (const { id, table } of open) {
    const stopped: JobError = {
      ...error,
      detail: `The views over ${table} keep their previous rows, because the ${job.kind} of table ${job.table_name} of the same update did not end: ${error.detail}`,
      meta: { ...error.meta, stopped_by: job.id },
    };
    await sql.query({
      text: "update appdb.jobs set undoing = $2, attempts = 0 where id = $1 and state in ('queued', 'running')",
      values: [id, JSON.stringify(stopped)],
    });
  }
}
