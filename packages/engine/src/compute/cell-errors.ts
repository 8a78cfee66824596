import { PROGRAM_ENDED } from "@appdb/contract/program-code";
import type { EngineValue } from "@appdb/contract/types";
import type { CatalogTable } from "../catalog/catalog.ts";
import { viewOfRows } from "../catalog/sql-names.ts";
import { valuesRead } from "../expressions/needs-python.ts";
import type { UdfError } from "../ports.ts";
import { storableText } from "../sql/quote.ts";

/** The reason for a missing value, stored in the row's `_errors` under the column's name. */
export interface CellError {
  /** The exception's class name; `CellError` when a column that it reads failed. */
  readonly type: string;
  readonly message: string;
  readonly function: string;
  /** The column whose failure is the cause, if it is another one. */
  readonly column?: string;
}

/** The graph input with a row's stored cell errors; named like the row's own column. */
export const ERRORS_INPUT = "_errors";

export type CellErrors = Readonly<Record<string, CellError>>;

const OF_PLACE: ReadonlySet<string> = new Set(["disk_full", "database_unavailable"]);
/** Type of the error of a cell that reads a failed one. */
const CARRIED = "CellError";

/** The errors of a row that is not stored yet. */
export function errorsOfRow(layout: { readonly errors: number }, row: readonly EngineValue[]): CellErrors {
  const text = row[layout.errors];
  return typeof text === "string" ? (JSON.parse(text) as CellErrors) : {};
}

/**
 * All errors of a row: those of the failed columns, and for each of `columns` that reads a failed one, directly or not,
 * an error that names the cause. Null when nothing failed.
 */
export function spreadErrors(
  table: Pick<CatalogTable, "columns">,
  columns: ReadonlySet<string>,
  failed: CellErrors,
): CellErrors {
  const all: Record<string, CellError> = { ...failed };
  // A reader may be listed before its source, so repeat until nothing is added.
  for (let before = -1; before !== Object.keys(all).length; ) {
    before = Object.keys(all).length;
    for (const { name, computed } of table.columns) {
      if (computed === null || !columns.has(name) || all[name] !== undefined) continue;
      const read = valuesRead(computed.expr).find((candidate) => all[candidate] !== undefined);
      const cause = read === undefined ? undefined : all[read];
      if (read !== undefined && cause !== undefined) all[name] = propagateError(read, cause);
    }
  }
  return all;
}

/** The errors of columns that failed themselves, from a runner's result for a row. */
export function ownErrors(errors: Readonly<Record<string, UdfError>>): CellErrors {
  const own = Object.entries(errors).filter(([, error]) => error.kind !== "skipped");
  // A worker that died skips the steps without function calls. If all steps are skipped, each keeps its own error.
  const reported = own.length > 0 ? own : Object.entries(errors);
  return Object.fromEntries(
    reported.map(([name, { type, message, function: fn }]) => [
      name,
      { type, message: storableText(message), function: fn },
    ]),
  );
}

/** True for an error that is unrelated to the row: the application's code cannot be loaded, or lacks the function, or the
 *  disk is full, or the database is away. It never replaces the value of a cell. */
export function isOfApplication(errors: Readonly<Record<string, UdfError>>): boolean {
  return Object.values(errors).some(({ kind, type }) => kind === "import" || kind === "missing" || OF_PLACE.has(type));
}

/** True for such an error that refuses a new row. A function whose program has ended fails only the cell: later values
 *  come from a recompute, after the function was moved. */
export function refusesRow(errors: Readonly<Record<string, UdfError>>): boolean {
  const others = Object.entries(errors).filter(([, { type }]) => type !== PROGRAM_ENDED);
  return isOfApplication(Object.fromEntries(others));
}

function propagateError(read: string, cause: CellError): CellError {
  const column = cause.column ?? read;
  if (cause.column !== undefined) return { ...cause, column };
  return {
    type: CARRIED,
    message: `${viewOfRows(column) ?? column} has no value: ${cause.type}: ${cause.message}`,
    function: cause.function,
    column,
  };
}
