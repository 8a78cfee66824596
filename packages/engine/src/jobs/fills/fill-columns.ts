import { loadDefinitions } from "../../catalog/load-catalog.ts";
import { type Clock, SqlError } from "../../ports.ts";
import type { JobDeps } from "../job-deps.ts";
import { type Job, setTotal } from "../job-store.ts";
import { openUndoLog } from "../previous-values/undo-log.ts";
import { readAgain, storeRows } from "./fill-batch.ts";
import { type FillContext, JobLost } from "./fill-context.ts";
import { type Fill, type FillMode, type FillOptions, planFill } from "./fill-plan.ts";
import { countRows } from "./fill-statement.ts";
import {
  createLazyRunner,
  NO_RESULTS,
  type RowResults,
  readStoredRows,
  runAll,
  type StoredRows,
  sliceResults,
  sliceRows,
} from "./run-rows.ts";

/** Target duration of a batch. A slow function must not delay finished rows or the shown progress. */
const AIM_MS = 300;
const FIRST_ROWS = 32;
const MAX_ROWS = 5_000;
/** Maximum change of the size by a single quick or slow batch. */
const MAX_GROWTH = 4;

interface BatchPace {
  /** Rows of the next batch, 1 to 5,000. */
  readonly rows: number;
  /** Records the end of a batch with `rows` rows. */
  batchDone(): void;
}

/** Sizes batches by the duration of the last one, so that each takes about 0.3 seconds. */
export function createBatchPace(clock: Clock): BatchPace {
  let rows = FIRST_ROWS;
  let startedAt = clock.now();
  return {
    get rows() {
      return rows;
    },
    batchDone() {
      const now = clock.now();
      const factor = AIM_MS / Math.max(1, now - startedAt);
      const bounded = Math.min(MAX_GROWTH, Math.max(1 / MAX_GROWTH, factor));
      rows = Math.min(MAX_ROWS, Math.max(1, Math.round(rows * bounded)));
      startedAt = now;
    },
  };
}

/** Rows per transaction if SQL computes everything. */
const SQL_BATCH = 5_000;
/** For slow functions: finished rows are written after this time. So little work is lost and the progress is
 *  accurate. */
const WRITE_AFTER_MS = 1_000;

/**
 * Computes the columns of a job for all rows after its cursor, in short transactions of one batch each. The next batch
 * is read and computed while one is written. If it stops, only unwritten work is lost. Leaves out the rows that are
 * computed when they are put in place (`Fill.at_once`).
 * @throws RowFailed; JobLost; worker_unavailable, database_unavailable, disk_full
 */
export async function fillColumns(
  deps: JobDeps,
  job: Job,
  signal: AbortSignal,
  options: FillOptions = {},
): Promise<void> {
  const catalog = await loadDefinitions(deps.sql);
  const fill = planFill(catalog, job, options);
  if (fill === undefined) return;
  if (fill.at_once !== null) await deps.admit?.();
  const counting = job.rows_total === null ? reportTotal(deps, job, fill) : Promise.resolve();
  // Rows of a scope leave it when they are done, so they are counted first. All rows can be counted while the first
  // ones are read and the workers start; errors are handled at the end.
  if (fill.scope === null) counting.catch(() => undefined);
  else await counting;
  await openUndoLog(deps.sql, fill);
  await using runner = createLazyRunner(
    deps,
    { catalog, folder: fill.table.folder, columns: fill.columns },
    job.runtime_id,
  );
  const failed = new AbortController();
  const stopped = AbortSignal.any([signal, failed.signal]);
  await computeAll({ deps, job, fill, runner, signal: stopped }, (error) => failed.abort(error));
  await counting;
}

/** The identity of the first row that a fill or recompute has not written. */
export async function firstRowLeft(deps: Pick<JobDeps, "sql">, job: Job): Promise<string | undefined> {
  const fill = planFill(await loadDefinitions(deps.sql), job);
  if (fill === undefined) return undefined;
  return (await readNext({ deps, fill }, fill.main, job.cursor, 1)).ids[0];
}

async function reportTotal({ sql }: JobDeps, job: Job, { table, scope }: Fill): Promise<void> {
  const { rows } = await sql.query({ text: countRows(table, scope) });
  await setTotal(sql, job, Number(rows[0]?.[0]));
}

/** `stop` ends concurrent work with the error of a failed write. */
async function computeAll(context: FillContext, stop: (error: unknown) => void): Promise<void> {
  const { deps, job, fill, signal } = context;
  const mode = fill.main;
  const pace = createBatchPace(deps.clock);
  const size = () => (mode.graph === null ? SQL_BATCH : pace.rows);
  const writer = createWriter(context, mode, stop);
  let reading = readNext(context, mode, job.cursor, size());
  try {
    for (;;) {
      signal.throwIfAborted();
      const rows = await reading;
      const last = rows.ids.at(-1);
      if (last === undefined) return await writer.end();
      reading = readNext(context, mode, last, size());
      // Its error is handled when it is awaited. An earlier one of the previous batch may come first.
      reading.catch(() => undefined);
      // The rows of pending cells were accepted.
      if (job.kind !== "close_pending") await deps.admit?.();
      await computeBatch(context, mode, rows, writer);
      pace.batchDone();
    }
  } finally {
    // A write must not finish after the job is released or undone. Its error has arrived through `stop`.
    await writer.end().catch(() => undefined);
  }
}

/** Computes the rows of a batch and passes them to the writer, in parts when they are slow. */
async function computeBatch(
  { runner, signal }: FillContext,
  mode: FillMode,
  rows: StoredRows,
  writer: Writer,
): Promise<void> {
  const { graph } = mode;
  if (graph === null) return writer.write(rows, NO_RESULTS);
  const count = rows.ids.length;
  const batch = (await runner.forGraph(graph)).runBatch(graph, rows.inputs, count);
  for (let written = 0; written < count; ) {
    await batch.wait(WRITE_AFTER_MS, signal);
    const { ready } = batch;
    if (ready === written) continue;
    if (ready - written === count) await writer.write(rows, batch);
    else await writer.write(sliceRows(rows, written, ready), sliceResults(batch, written, ready));
    written = ready;
  }
}

interface Writer {
  /** Queues rows for writing; resolves when the previous ones are written. */
  write(rows: StoredRows, results: RowResults): Promise<void>;
  /** Resolves when everything has been written. */
  end(): Promise<void>;
}

/** One write at a time, in row order, while the caller continues. */
function createWriter(context: FillContext, mode: FillMode, stop: (error: unknown) => void): Writer {
  let last: Promise<void> = Promise.resolve();
  return {
    async write(rows, results) {
      await last;
      last = storeBatch(context, mode, rows, results);
      last.catch(stop);
    },
    end: () => last,
  };
}

async function readNext(
  { deps, fill }: { readonly deps: Pick<JobDeps, "sql">; readonly fill: Fill },
  mode: FillMode,
  cursor: string | null,
  limit: number,
): Promise<StoredRows> {
  try {
    const result = await deps.sql.query({ text: mode.select, values: [cursor, limit, null] });
    return readStoredRows(result, mode.graph?.inputs ?? [], fill.outside);
  } catch (error) {
    throw await toJobLost(deps, fill, error);
  }
}

async function storeBatch(context: FillContext, mode: FillMode, rows: StoredRows, results: RowResults): Promise<void> {
  const cursor = rows.ids.at(-1) ?? "";
  try {
    await storeRows(context, mode, { rows, results, cursor });
  } catch (error) {
    const { python } = context.fill;
    // Class 22: SQL refuses a value. Python may have one, or an exception with more detail.
    if (!(error instanceof SqlError && error.sqlstate.startsWith("22")) || mode.steps.length === 0 || python === null) {
      throw await toJobLost(context.deps, context.fill, error);
    }
    await storeByPython(context, python, rows, cursor);
  }
}

async function storeByPython(context: FillContext, python: FillMode, rows: StoredRows, cursor: string): Promise<void> {
  const again = await readAgain(context, python, rows.ids);
  const results = python.graph === null ? NO_RESULTS : await runAll(context, python.graph, again);
  try {
    await storeRows(context, python, { rows: again, results, cursor });
  } catch (error) {
    throw await toJobLost(context.deps, context.fill, error);
  }
}

/** A missing column or table: if the tables have changed, reading the job again shows what is left to do. */
async function toJobLost({ sql }: Pick<JobDeps, "sql">, fill: Fill, error: unknown): Promise<unknown> {
  if (!(error instanceof SqlError) || !["42703", "42P01"].includes(error.sqlstate)) return error;
  const { version } = await loadDefinitions(sql);
  return version === fill.catalog_version ? error : new JobLost("the table changed", { cause: error });
}
