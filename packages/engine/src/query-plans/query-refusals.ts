import { AppError, appError, type ErrorCode } from "@appdb/contract/errors";
import { endedByChange, isEndedByChange } from "../catalog/ended-by-change.ts";
import { cellErrorCode, describeUdfError, missingHint, storeFailure } from "../compute/run-graph.ts";
import { ResultTooLarge, SqlError, type UdfError } from "../ports.ts";
import { type QueryLimits, timedOut, tooManyBytes } from "../sql/query-limits.ts";

/** Converts PostgreSQL's refusal of a query into an error for the caller. Errors that no caller can fix stay the
 *  same. */
export function explainQueryRefusal(query: string, limits: QueryLimits, error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof ResultTooLarge) return tooManyBytes(query, limits, error);
  // Nothing was written, so the outcome is certain even if the connection breaks.
  if (error instanceof AppError && error.code === "commit_unknown") return connectionLost(error);
  if (!(error instanceof SqlError)) return error;
  const { sqlstate } = error;
  if (isEndedByChange(error, signal)) return endedByChange(error);
  if (sqlstate === "57014") {
    if (!signal?.aborted) return timedOut(query, limits, error);
    return appError("interrupted", { detail: "The client disconnected; its statement was cancelled.", cause: error });
  }
  if (/^(53|57|25006)/.test(sqlstate)) return connectionLost(error, ` (SQLSTATE ${sqlstate})`);
  if (sqlstate.startsWith("22") || sqlstate.startsWith("54")) {
    return appError("function_failed", {
      detail: `The query ${query} has a value outside the range of its type: a number beyond Int or Float, or a text that is too long.`,
      hint: "Add up Ints with .astype(db.Float), divide Floats before adding up, or ask for fewer rows.",
      meta: { query, type: "OverflowError" },
      cause: error,
    });
  }
  return error;
}

/** Where a query met a failed value: in a clause, in a column of the nth row, or in an aggregate of a group, given
 *  by its keys. */
export type FailedAt =
  | { readonly clause: string }
  | { readonly column: string; readonly row: number }
  | { readonly column: string; readonly group: Readonly<Record<string, unknown>> };

/** The error of a value that Python could not compute, in the form of a computed column's error. */
export function computeError(query: string, where: FailedAt, error: UdfError): Error {
  const at = error.at === null ? "" : ` (${error.at})`;
  const storeCode = storeFailure(error);
  if (storeCode !== undefined) {
    return appError(storeCode, {
      detail: `The query ${query}, ${placeOf(where)}: ${error.message}`,
      hint: storeHint(storeCode),
      meta: { query, column: null, row: null, ...where },
    });
  }
  return appError(cellErrorCode(error), {
    detail: `The query ${query}, ${placeOf(where)}: ${describeUdfError(error)}${at}`,
    hint:
      error.kind === "missing"
        ? missingHint(error, "change the query and run `cli service update`")
        : "Exclude such rows with where(), or change the expression.",
    meta: {
      query,
      column: null,
      row: null,
      ...where,
      function: error.function,
      type: error.type,
      message: error.message,
      at: error.at,
    },
  });
}

function storeHint(code: ErrorCode): string {
  if (code === "disk_full") return "Free space on the disk, and send the query again.";
  if (code === "database_unavailable") return "Send the query again in a moment.";
  return "Exclude such rows with where(), or put the file back into its store by an upload of the same content.";
}

function placeOf(where: FailedAt): string {
  if ("clause" in where) return where.clause;
  if ("row" in where) return `column ${where.column} of row ${where.row}`;
  const keys = Object.entries(where.group).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return `column ${where.column}${keys.length === 0 ? "" : ` of the group ${keys.join(", ")}`}`;
}

function connectionLost(cause: unknown, reason = ""): Error {
  return appError("database_unavailable", {
    detail: `PostgreSQL does not respond to the query at the moment${reason}.`,
    hint: "Send the request again in a moment.",
    cause,
  });
}
