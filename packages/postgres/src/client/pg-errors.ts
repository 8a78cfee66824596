import { AppError, appError } from "@appdb/contract/errors";
import { ResultTooLarge, SqlError } from "@appdb/engine/ports";
import { DatabaseError } from "pg";

/** Whether the connection that threw this error is unusable. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.severity === "FATAL" || error.severity === "PANIC";
  return error instanceof AppError && (error.code === "commit_unknown" || error.code === "database_unavailable");
}

/**
 * Converts a driver error of a statement to SqlError (PostgreSQL refused it) or `commit_unknown` (the connection broke
 * while it ran). A FATAL error during a shutdown may come after the commit, so it counts as unknown too.
 */
export function statementError(error: unknown): unknown {
  if (error instanceof AppError || error instanceof SqlError || error instanceof ResultTooLarge) return error;
  if (error instanceof DatabaseError && error.code === READ_ONLY) return writesRefused(error);
  if (error instanceof DatabaseError && !isConnectionLost(error)) {
    return new SqlError(error.message, {
      sqlstate: error.code ?? "XX000",
      constraint: error.constraint,
      column: error.column,
      line: lineOf(error.where),
      position: error.position === undefined ? undefined : Number(error.position),
      hint: error.hint,
      cause: error,
    });
  }
  if (isNeverSent(error)) return unavailableError(error);
  if (isProtocolMisuse(error)) return error;
  return appError("commit_unknown", {
    detail:
      "The connection to PostgreSQL broke while a statement was running. The statement may or may not have been executed.",
    hint: "Check whether the row exists before you send it again.",
    meta: error instanceof DatabaseError && error.code !== undefined ? { sqlstate: error.code } : {},
    cause: error,
  });
}

/** PostgreSQL refuses writes (refuse-writes.ts). */
const READ_ONLY = "25006";

function writesRefused(cause: DatabaseError): AppError {
  return appError("disk_full", {
    detail:
      "PostgreSQL refuses writes now because the disk of its database is full. Nothing was stored. Rows can be read.",
    hint: "See what uses it: cli db status and cli media du. Raise disk_gb in the database's entry (cli db update), or drop tables. Files of deleted rows free their space after two days.",
    cause,
  });
}

/** Whether PostgreSQL refused a write because a disk is full (refuse-writes.ts). */
export function writesAreRefused(error: unknown): error is AppError {
  return error instanceof AppError && error.cause instanceof DatabaseError && error.cause.code === READ_ONLY;
}

/** The same refusal while the disk of the server is nearly full, which only its operator can change. */
export function serverRefusesWrites({ cause }: AppError): AppError {
  return appError("disk_full", {
    detail:
      "PostgreSQL refuses writes now because the disk of the server is nearly full. Nothing was stored. Rows can be read.",
    hint: "Ask the operator of the server to free space on its disk, then try again.",
    cause,
  });
}

/** `COPY items, line 12, column price: "x"` */
function lineOf(where: string | undefined): number | undefined {
  const line = where === undefined ? undefined : /^COPY .*?, line (\d+)(?:[,:]|$)/m.exec(where)?.[1];
  return line === undefined ? undefined : Number(line);
}

/** Messages of the driver for a connection that it knew to be closed: nothing was sent. */
function isNeverSent(error: unknown): boolean {
  return error instanceof Error && / is not queryable$/.test(error.message);
}

/** Programming errors that the driver finds before sending. */
function isProtocolMisuse(error: unknown): boolean {
  return error instanceof Error && /^(Prepared statements must be unique|Query values must be)/.test(error.message);
}

/**
 * No connection was possible: the server is down, starting, stopping, full, or refuses the role. `status_command` shows
 * more.
 */
export function unavailableError(error: unknown, statusCommand?: string): AppError {
  if (error instanceof AppError) return error;
  const sqlstate = error instanceof DatabaseError ? error.code : undefined;
  return appError("database_unavailable", {
    detail: `PostgreSQL does not accept connections (${reason(error)}).`,
    hint: `${isTimeout(error) ? "The machine or the database has too much to do. " : ""}Try again in a moment.${statusCommand === undefined ? "" : ` Check its status: ${statusCommand}`}`,
    meta: sqlstate === undefined ? {} : { sqlstate },
    cause: error,
  });
}

/** A short reason without the addresses and paths in the driver's messages. */
function reason(error: unknown): string {
  if (error instanceof DatabaseError) {
    if (error.code === "57P03") return "it is starting up or shutting down";
    if (error.code === "53300") return "it has no free connection";
    if (error.code === "3D000") return "the database does not exist";
    if (error.code?.startsWith("28")) return "the role or its password was refused";
    return `SQLSTATE ${error.code}`;
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
  if (code === "ECONNREFUSED" || code === "ENOENT") return "it is not running";
  if (isTimeout(error)) return "it did not answer in time";
  return code ?? "the connection broke";
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && /timeout/i.test(error.message);
}
