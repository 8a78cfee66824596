import type { RecomputePlan, RecomputeResult } from "@appdb/contract/jobs";
import { parseTablePath } from "@appdb/contract/names";
import type { Progress, RecomputePlanRequest, RecomputeRequest } from "@appdb/contract/routes/local";
import {
  countRecompute,
  type RecomputeRequest as EngineRequest,
  type PlannedRecompute,
  planRecompute,
  startRecompute,
} from "@appdb/engine/jobs/plan-recompute";
import { watchJobs } from "@appdb/engine/jobs/watch-jobs";
import type { SqlConnection } from "@appdb/engine/ports";
import { loadCatalog } from "@appdb/engine/schema/load-catalog";
import { folderSchema } from "@appdb/engine/target";
import { openKnown } from "./open-known.ts";
import type { SchemaDeps } from "./schema.ts";

/** What a recompute would do. @throws table_not_found, column_not_found, invalid_request */
export async function planTableRecompute(
  deps: Pick<SchemaDeps, "databases">,
  request: RecomputePlanRequest,
): Promise<RecomputePlan> {
  const { sql } = await openKnown(deps, parseTablePath(request.table).target.text);
  return describe(sql, request, planRecompute(await loadCatalog(sql), toEngine(request, undefined)));
}

/**
 * Computes columns of a table again and waits for it. When the signal aborts the job goes on without a watcher.
 * @throws table_not_found, column_not_found, invalid_request, recompute_failed, job_cancelled
 */
export async function recomputeTable(
  deps: SchemaDeps,
  { runtime, ...request }: RecomputeRequest,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<RecomputeResult> {
  const { sql } = await openKnown(deps, parseTablePath(request.table).target.text);
  const runtime_id = runtime === null ? undefined : deps.runtimes.save(runtime);
  const { job, plan } = await sql.transaction((connection) =>
    startRecompute(connection, toEngine(request, runtime_id)),
  );
  const described = await describe(sql, request, plan);
  if (job === undefined) return { ...described, job: "", rows_done: 0, errors: 0 };
  let last = { rows_done: 0, errors: 0 };
  const keep = (progress: Progress) => {
    last = progress;
    onProgress(progress);
  };
  await watchJobs({ sql, clock: deps.clock }, [job], keep, signal);
  return { ...described, job, rows_done: last.rows_done, errors: last.errors };
}

async function describe(
  sql: SqlConnection,
  request: RecomputePlanRequest,
  plan: PlannedRecompute,
): Promise<RecomputePlan> {
  return {
    table: parseTablePath(request.table).text,
    columns: plan.columns.map((column) => column.name),
    cascade: plan.cascade.map((column) => column.name),
    on_error: request.on_error,
    errors_only: request.errors_only,
    rows: await countRecompute(sql, plan, request.errors_only),
  };
}

function toEngine(request: RecomputePlanRequest, runtime_id: string | undefined): EngineRequest {
  const path = parseTablePath(request.table);
  const { columns, cascade, on_error, errors_only } = request;
  return {
    folder: folderSchema(path.target.text),
    table: path.table,
    columns: columns.map((name) => name.toLowerCase()),
    cascade,
    on_error,
    errors_only,
    runtime_id,
  };
}
