import { AppError, appError } from "@appdb/contract/errors";
import { limitVariable } from "@appdb/contract/service-limits";
import { endedByChange, isEndedByChange } from "../catalog/ended-by-change.ts";
import { ResultTooLarge, SqlError } from "../ports.ts";

/** First words of statements that only read. */
const READS = ["select", "with", "values", "table"];
const LEADING = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|\()*/;

const WRITE = "Change rows with cli insert, cli update and cli delete, and tables with cli schema update.";
const SHOW_PLAN = 'Show the plan without options: cli query --explain "select ..."';
/** PostgreSQL resolves the tables that such a statement writes without our names for them. */
const WRITES = /\b(?:insert\s+into|update|delete\s+from|merge\s+into)\s/i;

/** Refuses a statement that cannot be a read by its first word. @throws sql_refused */
export function checkStatement(sql: string): void {
  if (sql.includes("\0")) throw refused("The SQL contains a NUL character.", "Remove it.", {});
  const start = LEADING.exec(sql)?.[0].length ?? 0;
  const word = /^[A-Za-z]+/.exec(sql.slice(start))?.[0];
  if (word === undefined ? sql.slice(start).trim() !== "" : READS.includes(word.toLowerCase())) return;
  if (word === undefined) throw refused("The SQL has no statement.", "Write one: select * from docs", {});
  throw refused(
    `The statement begins with ${word.toUpperCase()}. SQL of people only reads: SELECT, WITH, VALUES and TABLE.`,
    word.toLowerCase() === "explain" ? SHOW_PLAN : WRITE,
    { statement: word.toUpperCase(), ...placeOf(sql, [...sql.slice(0, start)].length + 1) },
  );
}

export interface SqlFailure {
  readonly sql: string;
  /** What the engine put before the statement. */
  readonly before: string;
  readonly temp_mb: number;
  readonly signal: AbortSignal;
}

/** Converts PostgreSQL's refusal of a person's statement into an error for that person. */
export function explainSqlRefusal(error: unknown, { sql, before, signal, temp_mb: tempMb }: SqlFailure): unknown {
  if (error instanceof ResultTooLarge) return rowTooLarge(error);
  if (error instanceof AppError) {
    if (error.code === "commit_unknown") return lost(error);
    // the same SQLSTATE as of a full disk, but this role never writes
    if (error.code !== "disk_full") return error;
    return refused("The statement writes. SQL of people only reads.", "Use functions without side effects.", {}, error);
  }
  if (!(error instanceof SqlError)) return error;
  const { message, position, sqlstate } = error;
  if (isEndedByChange(error, signal)) return endedByChange(error);
  // the time of the statement has its own error
  if (sqlstate === "57014") {
    return appError("interrupted", { detail: "The client disconnected; its statement was cancelled.", cause: error });
  }
  if (sqlstate === "53400" && message.startsWith("temporary file size")) {
    return tooLarge(`The statement needs more than ${tempMb} MB of temporary files, the maximum.`, error, {
      limit: "temp_file_mb",
      value: tempMb,
    });
  }
  if (sqlstate === "53200" || sqlstate === "54000" || /^(invalid memory alloc request|out of memory)/.test(message)) {
    return tooLarge("A value of the statement needs more memory than PostgreSQL gives to one.", error, {});
  }
  if (/^(08|53|57)/.test(sqlstate)) return lost(error);
  if (sqlstate.startsWith("XX"))
    return refused("PostgreSQL could not run the statement.", REWRITE, { sqlstate }, error);
  if (sqlstate === "42P01" && WRITES.test(sql)) {
    return refused("The statement writes. SQL of people only reads.", WRITE, { sqlstate }, error);
  }
  const place = position === undefined ? undefined : placeOf(sql, position - [...before].length);
  if (/near ";"$|^cannot insert multiple commands/.test(message)) {
    return refused("The SQL has several statements.", "Send one statement at a time.", { sqlstate, ...place }, error);
  }
  const isBeyond = place !== undefined && place.position > [...sql].length;
  const said = isBeyond ? "syntax error at the end of the statement" : message.replace(WRAPPED, '"');
  const at = place === undefined ? "" : ` at line ${place.line}, column ${place.column}`;
  return refused(
    `PostgreSQL refused the statement${at}: ${said}.`,
    error.hint ?? hintOf(sqlstate),
    { sqlstate, ...place },
    error,
  );
}

/** What the engine put behind the statement, in PostgreSQL's message. */
const WRAPPED = /\n\) as "statement"[\s\S]*$/;
const REWRITE = "Write the statement in another way.";

function hintOf(sqlstate: string): string {
  if (sqlstate === "42P01")
    return "See the tables: cli ls. A table of a folder is named by its path, in double quotes.";
  if (sqlstate === "42501") return "SQL of people reads tables and views, and calls functions without side effects.";
  return "Correct the statement, and send it again.";
}

export function outOfTime(ms: number, cause: unknown): Error {
  return appError("query_timeout", {
    detail: `The statement worked longer than ${ms} ms, the maximum.`,
    hint: `Read fewer rows, send a greater timeout_ms, or raise ${limitVariable("statement_timeout_ms")}.`,
    meta: { limit: "timeout_ms", value: ms },
    cause,
  });
}

export function rowTooLarge(error: ResultTooLarge): Error {
  return tooLarge(`A row of the result has more than ${error.max_bytes} bytes, the maximum.`, error, {
    limit: "result_bytes",
    value: error.max_bytes,
  });
}

function tooLarge(detail: string, cause: Error, meta: Readonly<Record<string, unknown>>): Error {
  return appError("result_too_large", { detail, hint: "Read fewer rows or shorter values.", meta, cause });
}

function lost(cause: Error): Error {
  return appError("database_unavailable", {
    detail: "PostgreSQL does not respond to the statement at the moment.",
    hint: "Send the request again in a moment.",
    cause,
  });
}

function refused(detail: string, hint: string, meta: Readonly<Record<string, unknown>>, cause?: unknown): Error {
  return appError("sql_refused", { detail, hint, meta, cause });
}

interface Place {
  /** In characters from 1, as PostgreSQL counts them. */
  readonly position: number;
  readonly line: number;
  readonly column: number;
}

/** Undefined for a place before the statement. */
function placeOf(sql: string, position: number): Place | undefined {
  if (position < 1) return undefined;
  const lines = [...sql]
    .slice(0, position - 1)
    .join("")
    .split("\n");
  return { position, line: lines.length, column: [...(lines.at(-1) ?? "")].length + 1 };
}
