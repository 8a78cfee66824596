import { AppError, appError } from "@appdb/contract/errors";
import { cellErrorCode, whatHappened } from "../compute/run-graph.ts";
import { ResultTooLarge, SqlError, type UdfError } from "../ports.ts";
import { type QueryLimits, timedOut, tooManyBytes } from "../sql/query-limits.ts";

/** Turns PostgreSQL's refusal of a query into an error for the caller; what no caller could mend passes as it is. */
export function explainQueryRefusal(query: string, limits: QueryLimits, error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof ResultTooLarge) return tooManyBytes(query, limits, error);
  // Nothing was written, so a connection that broke leaves no doubt behind.
  if (error instanceof AppError && error.code === "commit_unknown") return lost(error);
  if (!(error instanceof SqlError)) return error;
  const { sqlstate } = error;
  if (sqlstate === "57014") {
    if (!signal?.aborted) return timedOut(query, limits, error);
    return appError("interrupted", { detail: "The client went away; its statement was cancelled.", cause: error });
  }
  if (/^(53|57|25006)/.test(sqlstate)) return lost(error, ` (SQLSTATE ${sqlstate})`);
  if (sqlstate.startsWith("22") || sqlstate.startsWith("54")) {
    return appError("function_failed", {
      detail: `The query ${query} has a value that does not fit its type: a sum beyond Int or Float, or a text beyond what can be held.`,
      hint: "Convert with .astype(db.Float) before adding up, or ask for fewer rows.",
      meta: { query, type: "OverflowError", sqlstate },
      cause: error,
    });
  }
  return error;
}

/** Where a query met a value that failed: in a clause, in a column of its answer's nth row, or in an aggregate of a group,
 *  which its keys tell. */
export type FailedAt =
  | { readonly clause: string }
  | { readonly column: string; readonly row: number }
  | { readonly column: string; readonly group: Readonly<Record<string, unknown>> };

/** A value that Python could not compute, told like that of a computed column. */
export function computeError(query: string, where: FailedAt, error: UdfError): Error {
  const at = error.at === null ? "" : ` (${error.at})`;
  return appError(cellErrorCode(error), {
    detail: `The query ${query}, ${placeOf(where)}: ${whatHappened(error)}${at}`,
    hint:
      error.kind === "missing"
        ? "Put the function back, or change the query and run `cli service update`."
        : "Leave such rows out with where(), or change the expression.",
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

function placeOf(where: FailedAt): string {
  if ("clause" in where) return where.clause;
  if ("row" in where) return `column ${where.column} of row ${where.row}`;
  const keys = Object.entries(where.group).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return `column ${where.column}${keys.length === 0 ? "" : ` of the group ${keys.join(", ")}`}`;
}

function lost(cause: unknown, why = ""): Error {
  return appError("database_unavailable", {
    detail: `PostgreSQL does not answer the query at this moment${why}.`,
    hint: "Send the request again in a moment.",
    cause,
  });
}
