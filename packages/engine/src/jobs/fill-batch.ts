import type { SqlConnection, UdfGraph, UdfResult } from "../ports.ts";
import { arrayText } from "../rows/value-sql.ts";
import type { FillContext } from "./fill-context.ts";
import { JobMoved } from "./fill-context.ts";
import type { Fill, FillMode } from "./fill-plan.ts";
import { advanceJob } from "./job-store.ts";
import { type ReadyRow, resolveRows } from "./resolve-rows.ts";
import { readRows, type StoredRow, startRows } from "./run-rows.ts";

/** How long one look at unfinished results lasts. */
const LOOK_MS = 1_000;

/**
 * Writes rows with what was computed for them, in one transaction with the job's cursor, or nothing. Rows that somebody
 * changed meanwhile are read and computed again before; those that are gone are left out.
 * @throws RowFailed; JobMoved; SqlError, of class 22 when SQL refuses a value
 */
export async function storeRows(
  context: FillContext,
  mode: FillMode,
  batch: { readonly rows: readonly StoredRow[]; readonly results: readonly UdfResult[]; readonly cursor: string },
): Promise<void> {
  let ready = await resolveRows(context, mode, batch.rows, batch.results);
  for (;;) {
    const missed = new Set(await tryStore(context, mode, ready, batch.cursor, batch.rows.length));
    if (missed.size === 0) return;
    const rows = await readAgain(context, mode, [...missed]);
    const results = mode.graph === null ? [] : await runAll(context, mode.graph, rows);
    ready = [...ready.filter((row) => !missed.has(row.id)), ...(await resolveRows(context, mode, rows, results))];
  }
}

/** Reads rows by their ids, as they are now. */
export async function readAgain(
  { deps, fill }: FillContext,
  mode: FillMode,
  ids: readonly string[],
): Promise<readonly StoredRow[]> {
  const { rows, row_count } = await deps.sql.query({ text: mode.select, values: [null, ids.length, ids] });
  return readRows({ rows, row_count }, mode.graph?.inputs ?? [], fill.outside);
}

/** Runs a graph over rows and waits for all of them. */
export async function runAll(
  { runner, signal }: FillContext,
  graph: UdfGraph,
  rows: readonly StoredRow[],
): Promise<readonly UdfResult[]> {
  const run = startRows(await runner.forGraph(graph), graph, rows);
  while (run.ready < rows.length) await run.wait(LOOK_MS, signal);
  return rows.map((_, at) => run.result(at));
}

/** Rolls the transaction back: these rows are not what was read. */
class Missed extends Error {
  readonly ids: readonly string[];

  constructor(ids: readonly string[]) {
    super("rows were changed meanwhile");
    this.ids = ids;
  }
}

/** Gives the identities of the rows that are not what was read any more; then nothing was written. */
async function tryStore(
  { deps, job, fill }: FillContext,
  mode: FillMode,
  ready: readonly ReadyRow[],
  cursor: string,
  rows: number,
): Promise<readonly string[]> {
  try {
    await deps.sql.transaction(async (connection) => {
      const missed = await writeRows(connection, fill, mode, ready);
      if (missed.length > 0) throw new Missed(missed);
      const errors = ready.reduce((sum, row) => sum + (row.errors === null ? 0 : Object.keys(row.errors).length), 0);
      const step = { cursor, rows, errors, table_version: fill.table.version };
      if (!(await advanceJob(connection, job, deps.owner, step))) throw new JobMoved("the job moved on");
    });
    return [];
  } catch (error) {
    if (error instanceof Missed) return error.ids;
    throw error;
  }
}

async function writeRows(
  connection: SqlConnection,
  fill: Fill,
  mode: FillMode,
  ready: readonly ReadyRow[],
): Promise<readonly string[]> {
  const whole = ready.filter((row) => row.is_whole);
  const parts = whole.length === 0 ? [ready] : [ready.filter((row) => !row.is_whole), whole];
  const missed: string[] = [];
  for (const rows of parts.filter((part) => part.length > 0)) {
    const is_whole = rows === whole;
    const given = is_whole ? fill.columns : (mode.graph?.steps ?? []);
    const values = rows.map((row) => row.values);
    const result = await connection.query({
      text: is_whole ? fill.given : mode.update,
      values: [
        `{${rows.map((row) => row.id).join(",")}}`,
        `{${rows.map((row) => row.xmin).join(",")}}`,
        ...given.map((column, at) => arrayText(column.type.kind, values, at)),
        errorsText(rows),
      ],
    });
    if (result.row_count === rows.length) continue;
    const written = new Set(result.rows.map(([id]) => id));
    for (const { id } of rows) if (!written.has(id)) missed.push(id);
  }
  return missed;
}

/** Nearly always no row has an error: then there is nothing to send. */
function errorsText(rows: readonly ReadyRow[]): string | null {
  if (rows.every((row) => row.errors === null)) return null;
  const errors = rows.map((row) => [row.errors === null ? null : JSON.stringify(row.errors)]);
  return arrayText("json", errors, 0);
}
