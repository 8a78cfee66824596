import { JSON_TYPE } from "../../kinds/kinds.ts";
import { columnText } from "../../kinds/values.ts";
import type { SqlConnection } from "../../ports.ts";
import { advanceJob } from "../job-store.ts";
import type { FillContext } from "./fill-context.ts";
import { JobLost } from "./fill-context.ts";
import type { Fill, FillMode } from "./fill-plan.ts";
import { BY_KEY, changedRows } from "./fill-statement.ts";
import { type ReadyRows, resolveRows, withoutRows } from "./resolve-rows.ts";
import { NO_RESULTS, type RowResults, readStoredRows, runAll, type StoredRows } from "./run-rows.ts";

/**
 * Writes rows with their computed values, in one transaction with the job's cursor, or nothing. Rows that others
 * changed meanwhile are first read and computed again; deleted rows are omitted.
 * @throws RowFailed; JobLost; SqlError, of class 22 when SQL refuses a value
 */
export async function storeRows(
  context: FillContext,
  mode: FillMode,
  batch: { readonly rows: StoredRows; readonly results: RowResults; readonly cursor: string },
): Promise<void> {
  let ready = await resolveRows(context, mode, batch.rows, batch.results);
  while (!(await tryStore(context, mode, ready, batch.cursor, batch.rows.ids.length))) {
    const missed = await findChanged(context, ready);
    const rows = await readAgain(context, mode, [...missed]);
    const results = mode.graph === null ? NO_RESULTS : await runAll(context, mode.graph, rows);
    const written = ready.map((part) => withoutRows(part, (id) => missed.has(id)));
    ready = [...written, ...(await resolveRows(context, mode, rows, results))];
  }
}

/** Reads the current versions of rows by their ids. */
export async function readAgain(
  { deps, fill }: FillContext,
  mode: FillMode,
  ids: readonly string[],
): Promise<StoredRows> {
  const result = await deps.sql.query({ text: mode.select, values: [null, ids.length, ids] });
  return readStoredRows(result, mode.graph?.inputs ?? [], fill.outside);
}

/** Rolls the transaction back: some rows have changed since they were read. */
class Missed extends Error {}

/** False when some rows have changed since they were read; then nothing was written. */
async function tryStore(
  { deps, job, fill }: FillContext,
  mode: FillMode,
  ready: readonly ReadyRows[],
  cursor: string,
  rows: number,
): Promise<boolean> {
  try {
    await deps.sql.transaction(async (connection) => {
      for (const part of ready) if (!(await writeRows(connection, fill, mode, part))) throw new Missed();
      const errors = ready.reduce((sum, part) => sum + countErrors(part), 0);
      const step = { cursor, rows, errors, table_version: fill.table.version };
      if (!(await advanceJob(connection, job, deps.owner, step)))
        throw new JobLost("the job has another owner or state");
    }, BY_KEY);
    return true;
  } catch (error) {
    if (error instanceof Missed) return false;
    throw error;
  }
}

function countErrors({ errors }: ReadyRows): number {
  let sum = 0;
  for (const own of errors.values()) sum += Object.keys(own).length;
  return sum;
}

/** Whether all rows were unchanged since they were read, and were written. */
async function writeRows(connection: SqlConnection, fill: Fill, mode: FillMode, rows: ReadyRows): Promise<boolean> {
  if (rows.ids.length === 0) return true;
  const inputs = rows.is_whole ? fill.columns : (mode.graph?.steps ?? []);
  const { row_count: rowCount } = await connection.query({
    text: rows.is_whole ? fill.updateInputs : mode.update,
    values: [
      listText(rows.ids),
      listText(isOneForAll(rows.rowVersions) ? rows.rowVersions.slice(0, 1) : rows.rowVersions),
      ...inputs.map((column, at) => columnText(column.type.kind, rows.columns[at] ?? [])),
      errorsText(rows),
    ],
  });
  return rowCount === rows.ids.length;
}

async function findChanged({ deps, fill }: FillContext, ready: readonly ReadyRows[]): Promise<ReadonlySet<string>> {
  const ids = ready.flatMap((part) => part.ids);
  const xmins = ready.flatMap((part) => part.rowVersions);
  const text = changedRows(fill.table);
  const { rows } = await deps.sql.query({ text, values: [listText(ids), listText(xmins)] });
  return new Set(rows.map(([id]) => id ?? ""));
}

/** Rows from one write, such as the last fill, share their xmin. PostgreSQL then parses it once, not per row. */
function isOneForAll(xmins: readonly string[]): boolean {
  return xmins.every((xmin) => xmin === xmins[0]);
}

/** The text of an array whose elements need no quotes. */
function listText(elements: readonly string[]): string {
  return `{${elements.join(",")}}`;
}

/** Nearly always no row has an error, and nothing is sent. */
function errorsText({ ids, errors }: ReadyRows): string | null {
  if (errors.size === 0) return null;
  const texts = ids.map((_, at) => {
    const own = errors.get(at);
    return own === undefined ? null : JSON.stringify(own);
  });
  return columnText(JSON_TYPE.kind, texts);
}
