import { appError } from "@appdb/contract/errors";
import { FREE_MACHINE_DISK } from "../answers/answers.ts";
import { type Row, type RowLayout, slotsNamed } from "../compute/row-layout.ts";
import { isKeyTaken } from "../idempotency/request-store.ts";
import { valueToJson } from "../kinds/values.ts";
import { SqlError } from "../ports.ts";
import { type QueryLimits, rowTimedOut } from "../sql/query-limits.ts";

const LONGEST_SHOWN = 100;

/** PostgreSQL refused a row for its content; other rows of its batch may be valid. SQLSTATE classes 22, 23 and 54. */
export function isRowRefusal(error: unknown): error is SqlError {
  return error instanceof SqlError && /^(22|23|54)/.test(error.sqlstate);
}

/** PostgreSQL refused a value that an expression read or made. */
export function isValueRefusal(error: unknown): boolean {
  return error instanceof SqlError && error.sqlstate.startsWith("22");
}

/** The statement no longer matches the table: a column or the table was dropped or has another type. */
export function isShapeRefusal(error: unknown): boolean {
  return error instanceof SqlError && (error.sqlstate.startsWith("42") || error.sqlstate === "0A000");
}

/** PostgreSQL rolled the transaction back in favour of another one: deadlock or serialization failure. Nothing was
 *  stored. */
export function isRolledBack(error: unknown): boolean {
  return error instanceof SqlError && (error.sqlstate === "40001" || error.sqlstate === "40P01");
}

/** The error for a transaction that was rolled back and cannot restart automatically. */
export function undone(table: string, cause: unknown): Error {
  return appError("database_unavailable", {
    detail: `PostgreSQL rolled back the rows of ${table} in favour of another request that wrote the same keys; nothing was stored.`,
    hint: "Send the request again.",
    cause,
  });
}

/** The row's key already exists. */
export function uniqueViolation(layout: RowLayout, row: Row): Error {
  const { name, primary_key: primaryKey } = layout.table;
  return appError("unique_violation", {
    detail: `${name} already has a row with (${primaryKey.join(", ")}) = (${shownKey(layout, row)}); its unique constraint refuses a second one.`,
    hint: "Send another key. The existing row was not changed.",
    meta: { table: name, columns: primaryKey },
  });
}

/** A row's key for people, with long values shortened. */
export function shownKey(layout: RowLayout, row: Row): string {
  const key = slotsNamed(layout, layout.table.primary_key);
  return key.map(({ type, at }) => shorten(valueToJson(type.kind, row[at] ?? null))).join(", ");
}

/** Converts PostgreSQL's refusal of a write into an error for the caller. Errors that no caller can fix stay the
 *  same. */
export function explainRefusal(
  layout: RowLayout,
  row: Row | undefined,
  error: unknown,
  limits: Pick<QueryLimits, "statement_timeout_ms">,
): unknown {
  // The code that handles idempotency keys looks up the first answer.
  if (!(error instanceof SqlError) || isKeyTaken(error)) return error;
  const { sqlstate } = error;
  if (sqlstate === "23505" && row !== undefined) return uniqueViolation(layout, row);
  if (sqlstate === "57014" || sqlstate === "55P03") return rowTimedOut(layout.table.name, limits, error);
  if (sqlstate === "53100") {
    return appError("disk_full", {
      detail: "The disk of the database's machine is full; the row was not stored.",
      hint: FREE_MACHINE_DISK,
      cause: error,
    });
  }
  if (/^(53|57|25006)/.test(sqlstate)) {
    return appError("database_unavailable", {
      detail: `PostgreSQL cannot take the row at the moment (SQLSTATE ${sqlstate}); it was not stored.`,
      hint: "Send the request again in a moment.",
      cause: error,
    });
  }
  if (!isRowRefusal(error)) return error;
  const column = error.column;
  return appError("invalid_request", {
    detail: refusalDetail(layout, error),
    hint: "Send other values.",
    meta: { table: layout.table.name, sqlstate },
    ...(column === undefined ? {} : { errors: [{ pointer: `/${column}`, detail: "The value cannot be stored." }] }),
    cause: error,
  });
}

function refusalDetail(layout: RowLayout, error: SqlError): string {
  const { name } = layout.table;
  if (error.sqlstate.startsWith("54"))
    return `The row is too large for ${name}: a value or an index entry exceeds its maximum size.`;
  if (error.sqlstate === "23502") return `${name}.${error.column ?? "?"} must not be null.`;
  return `${name} cannot store the row (SQLSTATE ${error.sqlstate}).`;
}

function shorten(text: string): string {
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN - 3)}...`;
}
