import type { RecomputePlan, RecomputeResult } from "@appdb/contract/jobs";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import { parseTablePath } from "@appdb/contract/names";
import type { Progress, RecomputePlanRequest, RecomputeRequest } from "@appdb/contract/routes/local";
import { readRuntime } from "@appdb/engine/catalog/catalog-store";
import { shownColumn } from "@appdb/engine/catalog/hidden-columns";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { shownNames } from "@appdb/engine/catalog/sql-names";
import { udfsOf } from "@appdb/engine/expressions/needs-python";
import {
  countRecompute,
  type RecomputeSelection as EngineRequest,
  type PlannedRecompute,
  planRecompute,
  startRecompute,
} from "@appdb/engine/jobs/plan-recompute";
import { isCodeKnown, noticeCode } from "@appdb/engine/jobs/remember-code";
import { watchJobs } from "@appdb/engine/jobs/watch-jobs";
import type { SqlConnection, SqlPool } from "@appdb/engine/ports";
import { folderSchema } from "@appdb/engine/target";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import type { OpenByText } from "./open-known.ts";
import type { LocalSchemaDeps } from "./schema.ts";

export interface RecomputeDeps extends Pick<LocalSchemaDeps, "runtimes" | "clock" | "log"> {
  readonly open: OpenByText;
}

/** Plans a recompute. @throws table_not_found, column_not_found, invalid_request */
export async function planTableRecompute(
  { open }: Pick<RecomputeDeps, "open">,
  request: RecomputePlanRequest,
): Promise<RecomputePlan> {
  const { sql } = await open(parseTablePath(request.table).target.text);
  return describe(sql, request, planRecompute(await loadCatalog(sql), toEngine(request, undefined)));
}

/**
 * Recomputes columns of a table and waits for the end. When the signal aborts, the job continues in the background.
 * @throws table_not_found, column_not_found, invalid_request, recompute_failed, job_cancelled, disk_full
 */
export async function recomputeTable(
  deps: RecomputeDeps,
  { runtime, manifest, ...request }: RecomputeRequest,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<RecomputeResult> {
  const { hold, sql } = await deps.open(parseTablePath(request.table).target.text);
  using _held = hold();
  const runtimeId = runtime === null ? undefined : deps.runtimes.save(runtime, manifest?.app_file ?? null);
  await noticePresentCode(deps, sql, { ...toEngine(request, runtimeId), manifest }, signal);
  const { job, plan } = await sql.transaction((connection) => startRecompute(connection, toEngine(request, runtimeId)));
  if (job === undefined) return { ...(await describe(sql, request, plan)), job: "", rows_done: 0, errors: 0 };
  let last = { rows_total: 0, rows_done: 0, errors: 0 };
  const keep = (progress: Progress) => {
    last = progress;
    onProgress(progress);
  };
  await watchJobs({ sql, clock: deps.clock }, [job], keep, signal);
  const { rows_total: rows, rows_done: rowsDone, errors } = last;
  return { ...outline(request, plan), rows, job, rows_done: rowsDone, errors };
}

/**
 * Records the code of the functions that a full recompute will run. Values come from the current files, which no diff
 * or update may have read yet. An unreadable file fails the recompute itself if one of its functions is needed.
 * Otherwise the columns may once more be reported as stale.
 */
async function noticePresentCode(
  deps: RecomputeDeps,
  sql: SqlPool,
  request: EngineRequest & { readonly manifest: Manifest | null },
  signal: AbortSignal,
): Promise<void> {
  const catalog = await loadCatalog(sql);
  const { table, columns, cascade } = planRecompute(catalog, request);
  const calls = [...columns, ...cascade].some(({ computed }) => computed !== null && udfsOf(computed.expr).length > 0);
  if (!calls || request.errors_only) return;
  const manifest = request.manifest ?? (await readPresent(deps, await readRuntime(sql, table.id), signal));
  if (manifest === undefined || isCodeKnown(manifest, catalog)) return;
  await sql.transaction((connection) => noticeCode(connection, manifest, catalog));
}

async function readPresent(
  deps: RecomputeDeps,
  runtimeId: string | null,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  const stored = runtimeId === null ? undefined : deps.runtimes.find(runtimeId);
  if (stored === undefined || stored.app_file === null) return undefined;
  try {
    return manifestSchema.parse(await readManifest({ runtime: stored.runtime, app_file: stored.app_file, signal }));
  } catch (error) {
    signal.throwIfAborted();
    deps.log.info(
      { app_file: stored.app_file, error: String(error) },
      "the code of a recompute could not be read in advance",
    );
    return undefined;
  }
}

async function describe(
  sql: SqlConnection,
  request: RecomputePlanRequest,
  plan: PlannedRecompute,
): Promise<RecomputePlan> {
  return { ...outline(request, plan), rows: await countRecompute(sql, plan, request.errors_only) };
}

function outline(request: RecomputePlanRequest, plan: PlannedRecompute): Omit<RecomputePlan, "rows"> {
  return {
    table: parseTablePath(request.table).text,
    columns: shownNames(plan.columns.map(({ name }) => shownColumn(plan.table, name))),
    cascade: shownNames(plan.cascade.map(({ name }) => shownColumn(plan.table, name))),
    views: [...plan.views],
    on_error: request.on_error,
    errors_only: request.errors_only,
  };
}

/** Converts a request for the engine. @throws invalid_target */
export function toEngine(request: RecomputePlanRequest, runtimeId: string | undefined): EngineRequest {
  const path = parseTablePath(request.table);
  const { columns, cascade, on_error: onError, errors_only: errorsOnly } = request;
  return {
    folder: folderSchema(path.target.text),
    table: path.table,
    path: path.text,
    columns: columns.map((name) => name.toLowerCase()),
    cascade,
    on_error: onError,
    errors_only: errorsOnly,
    runtime_id: runtimeId,
  };
}
