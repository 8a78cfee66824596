import type { EngineValue } from "@appdb/contract/types";
import { planCompute, planPython, type SqlStep } from "../compute/plan-compute.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import type { SqlConnection, UdfError, UdfGraph, UdfResult } from "../ports.ts";
import { SqlError } from "../ports.ts";
import { arrayText } from "../rows/value-sql.ts";
import type { Catalog, CatalogTable } from "../schema/catalog.ts";
import { loadCatalog } from "../schema/load-catalog.ts";
import { storableText } from "../sql/quote.ts";
import { createBatchPace } from "./batch-pace.ts";
import { countRows, selectRows, updateRows } from "./fill-statement.ts";
import type { JobDeps } from "./job-deps.ts";
import { advanceJob, type Job, setTotal } from "./job-store.ts";
import { createLazyRunner, type LazyRunner, readRows, runRows, type StoredRow } from "./run-rows.ts";

/** Rows of a transaction where SQL computes all of it. */
const SQL_BATCH = 5_000;

/** The job is not ours any more, or the table is not what it was: whoever reads the job anew knows what is left to do. */
export class JobMoved extends Error {}

/** A row has no value for a column of the job, and the job may not leave an error in its cell. */
export class RowFailed extends Error {
  readonly row: string;
  readonly column: string;
  readonly error: UdfError;

  constructor(row: string, column: string, error: UdfError) {
    super(error.message);
    this.row = row;
    this.column = column;
    this.error = error;
  }
}

interface Fill {
  readonly table: CatalogTable;
  readonly columns: readonly string[];
  readonly graph: UdfGraph | null;
  readonly steps: readonly SqlStep[];
  /** For rows of which SQL refused a value: every column in Python. */
  readonly python: UdfGraph | null;
  /** Null: all rows are computed, and one that fails ends the job. Else only rows with a pending cell of these columns
   *  are, and errors stay in their cells. */
  readonly pending: readonly string[] | null;
}

/**
 * Computes the columns of a job for all rows behind its cursor, in batches of one short transaction each. Stopped at any
 * point it loses at most one batch's work.
 * @throws RowFailed; JobMoved; worker_unavailable, database_unavailable
 */
export async function fillColumns(deps: JobDeps, job: Job, signal: AbortSignal): Promise<void> {
  const catalog = await loadCatalog(deps.sql);
  const fill = planFill(catalog, job);
  if (fill === undefined) return;
  if (job.rows_total === null) {
    const { rows } = await deps.sql.query({ text: countRows(fill.table, fill.pending) });
    await setTotal(deps.sql, job, Number(rows[0]?.[0]));
  }
  await using runner = createLazyRunner(deps, catalog, job.runtime_id);
  const pace = createBatchPace(deps.clock);
  let cursor = job.cursor;
  for (;;) {
    signal.throwIfAborted();
    const next = await fillBatch(deps, job, fill, { cursor, python_rows: pace.rows }, runner, signal);
    if (next === undefined) return;
    pace.batchDone();
    cursor = next;
  }
}

/** Undefined when the table or all of the columns are gone. */
function planFill(catalog: Catalog, job: Job): Fill | undefined {
  const table = catalog.tables.find((candidate) => candidate.id === job.table_id);
  const columns = table?.columns.filter((column) => job.column_ids.includes(column.id) && column.computed !== null);
  if (table === undefined || columns === undefined || columns.length === 0) return undefined;
  const names = columns.map((column) => column.name);
  const { graph, sql } = planCompute(table, catalog.functions, names);
  return {
    table,
    columns: names,
    graph,
    steps: sql,
    python: planPython(table, catalog.functions, names),
    pending: job.kind === "close_pending" ? names : null,
  };
}

/** Gives the identity of the last row that is done, or undefined when there was none left. */
async function fillBatch(
  deps: JobDeps,
  job: Job,
  fill: Fill,
  { cursor, python_rows }: { readonly cursor: string | null; readonly python_rows: number },
  runner: LazyRunner,
  signal: AbortSignal,
): Promise<string | undefined> {
  const limit = fill.graph === null ? SQL_BATCH : python_rows;
  try {
    return await computeBatch(deps, job, fill, { graph: fill.graph, steps: fill.steps, cursor, limit }, runner, signal);
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    // Class 22: SQL refuses a value for which Python may have one, or an exception that says more.
    if (error.sqlstate.startsWith("22") && fill.steps.length > 0 && fill.python !== null) {
      return computeBatch(
        deps,
        job,
        fill,
        { graph: fill.python, steps: [], cursor, limit: python_rows },
        runner,
        signal,
      );
    }
    if (["42703", "42P01"].includes(error.sqlstate)) throw new JobMoved("the table changed", { cause: error });
    throw error;
  }
}

interface BatchInput {
  readonly graph: UdfGraph | null;
  readonly steps: readonly SqlStep[];
  readonly cursor: string | null;
  readonly limit: number;
}

async function computeBatch(
  deps: JobDeps,
  job: Job,
  fill: Fill,
  { graph, steps, cursor, limit }: BatchInput,
  runner: LazyRunner,
  signal: AbortSignal,
): Promise<string | undefined> {
  const inputs = graph?.inputs ?? [];
  const given = graph?.steps ?? [];
  const reads = readsOf(fill, given);
  const update = updateRows({ table: fill.table, columns: fill.columns, given, steps, reads });
  const select = selectRows(
    fill.table,
    inputs.map((input) => input.name),
    fill.pending,
  );
  const read = async (only: readonly string[] | null): Promise<readonly StoredRow[]> =>
    readRows(await deps.sql.query({ text: select, values: [cursor, limit, only] }), inputs);

  let rows = await read(null);
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const total = rows.length;
  for (;;) {
    signal.throwIfAborted();
    const results = graph === null ? [] : await runRows(await runner.forGraph(graph), graph, rows, signal);
    const failed = fill.pending === null ? results.findIndex((result) => result.errors !== null) : -1;
    if (failed >= 0) throw rowFailed(rows[failed]?.id ?? "", results[failed]?.errors ?? {});
    const changed = await deps.sql.transaction(async (connection) => {
      const missed = await writeRows(connection, update, given, rows, results);
      const isDone = missed.length === 0;
      const step = { cursor: isDone ? last.id : cursor, rows: isDone ? total : 0, table_version: fill.table.version };
      if (!(await advanceJob(connection, job, deps.owner, step))) throw new JobMoved("the job moved on");
      return missed;
    });
    if (changed.length === 0) return last.id;
    // Somebody changed these rows while they were computed: their values are those of the former inputs.
    rows = await read(changed);
  }
}

/** Gives the identities of the rows that were not written, because they are not what was read any more. */
async function writeRows(
  connection: SqlConnection,
  update: string,
  given: UdfGraph["steps"],
  rows: readonly StoredRow[],
  results: readonly UdfResult[],
): Promise<readonly string[]> {
  if (rows.length === 0) return [];
  const values = results.map((result) => result.values);
  const errors = rows.map((_, at) => [cellErrors(results[at]?.errors ?? null)]);
  const written = await connection.query({
    text: update,
    values: [
      `{${rows.map((row) => row.id).join(",")}}`,
      `{${rows.map((row) => row.xmin).join(",")}}`,
      ...given.map((step, at) => arrayText(step.type.kind, values, at)),
      arrayText("json", errors, 0),
    ],
  });
  if (written.row_count === rows.length) return [];
  const ids = new Set(written.rows.map(([id]) => id));
  return rows.flatMap((row) => (ids.has(row.id) ? [] : [row.id]));
}

/** Columns that the SQL steps read as they are stored. */
function readsOf(fill: Fill, given: readonly { readonly name: string }[]): readonly string[] {
  const made = new Set([...fill.columns, ...given.map((step) => step.name)]);
  const read = new Set<string>();
  for (const { name, computed } of fill.table.columns) {
    if (computed !== null && made.has(name)) for (const column of referencedColumns(computed.expr)) read.add(column);
  }
  return [...read].filter((name) => !made.has(name));
}

function rowFailed(row: string, errors: Readonly<Record<string, UdfError>>): RowFailed {
  const entries = Object.entries(errors);
  const [column, error] = entries.find(([, candidate]) => candidate.kind !== "skipped") ?? entries[0] ?? [];
  if (column === undefined || error === undefined) throw new TypeError("A failed row came without an error.");
  return new RowFailed(row, column, error);
}

/** What a cell's error says of itself: `{"<column>": {"type", "message", "function"}}`. */
function cellErrors(errors: Readonly<Record<string, UdfError>> | null): EngineValue {
  if (errors === null) return null;
  const cells = Object.entries(errors).map(([name, error]) => {
    return [name, { type: error.type, message: storableText(error.message), function: error.function }];
  });
  return JSON.stringify(Object.fromEntries(cells));
}
