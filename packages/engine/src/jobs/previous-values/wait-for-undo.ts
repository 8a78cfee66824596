import { setTimeout as sleep } from "node:timers/promises";
import type { SqlConnection } from "../../ports.ts";

const PAUSE_MS = 50;

/**
 * Whether a job on these tables is cancelled or has failed, and has not undone its changes. Until then the catalog
 * declares columns that are about to be dropped or to get their previous expressions back: a plan would be wrong.
 */
export async function isBeingUndone(sql: SqlConnection, tableIds: readonly number[]): Promise<boolean> {
  const { rows } = await sql.query({
    text: `select exists (select from appdb.jobs j, appdb.state s
      where j.table_id = any($1::bigint[]) and j.state in ('queued', 'running') and j.incarnation = s.incarnation
        and j.kind in ('fill', 'recompute', 'build_index') and (j.is_cancelled or j.undoing is not null))`,
    values: [[...tableIds]],
  });
  return rows[0]?.[0] === "t";
}

/** Repeats work that returns undefined while a job is being undone. @throws the abort's reason */
export async function afterUndo<Result>(
  work: () => Promise<Result | undefined>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  for (;;) {
    signal?.throwIfAborted();
    const result = await work();
    if (result !== undefined) return result;
    await sleep(PAUSE_MS, undefined, signal === undefined ? {} : { signal });
  }
}
