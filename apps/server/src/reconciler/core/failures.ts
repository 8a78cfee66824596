import { type AppError, appError, toProblem } from "@appdb/contract/errors";
import { type RawBuilder, sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";
import type { OperationError } from "../../operations/run-operation.ts";

/** What the machine lacks, by the system's error code, in words for people. */
const SHORT_OF: Readonly<Record<string, string>> = {
  EAGAIN: "processes",
  ENOMEM: "memory",
  EMFILE: "open files of the server",
  ENFILE: "open files",
};
const FULL = new Set(["ENOSPC", "EDQUOT"]);
/** Maximum depth of a chain of causes. */
const DEEPEST = 5;

/** Failures of the machine or the server's settings, never of a tenant's request. */
const OF_MACHINE = new Set<string>([
  "disk_full",
  "home_not_writable",
  "machine_exhausted",
  "pods_one_organization",
  "pods_unavailable",
  "python_not_found",
]);
/** The pods of databases run no application code before they are ready. */
const OF_MACHINE_FOR_DATABASES = new Set<string>(["pod_failed", "postgres_failed"]);

const FIRST_RETRY_S = 60;
const LONGEST_RETRY_S = 600;
/** Failed starts within a few minutes before a database is FAILED. */
const QUICK_STARTS = 5;

/** Turns a system error, or an error caused by one, into `disk_full` or `machine_exhausted`. Undefined for others. */
export function fromMachineError(error: unknown): AppError | undefined {
  let at: unknown = error;
  for (let depth = 0; depth < DEEPEST && at instanceof Error; depth += 1) {
    const code = "code" in at && typeof at.code === "string" ? at.code : "";
    if (FULL.has(code)) {
      return appError("disk_full", {
        detail: "The disk of the server is full.",
        hint: "Wait until the operator has freed space. The server then tries again.",
        cause: error,
      });
    }
    const what = SHORT_OF[code];
    if (what !== undefined) {
      return appError("machine_exhausted", {
        detail: `The server's machine is out of ${what} (${code}).`,
        hint: "Wait until the operator has freed resources. The server then tries again.",
        meta: { code },
        cause: error,
      });
    }
    at = at.cause;
  }
  return undefined;
}

/**
 * Seconds until the next automatic start after a failure with this code: from 60 up to 600. Undefined if the machine is
 * not the cause.
 */
export function retryAfter(kind: "database" | "service", code: string, failedStarts: number): number | undefined {
  const isMachine = OF_MACHINE.has(code) || (kind === "database" && OF_MACHINE_FOR_DATABASES.has(code));
  if (!isMachine) return undefined;
  return Math.min(LONGEST_RETRY_S, FIRST_RETRY_S * 2 ** Math.max(0, failedStarts - QUICK_STARTS));
}

/** That time by the database's clock. Null for never. */
export function secondsFromNow(seconds: number | undefined): RawBuilder<Date> | null {
  return seconds === undefined ? null : sql<Date>`now() + make_interval(secs => ${seconds}::float8)`;
}

/** Makes all automatic restarts due now: the machine may have recovered when the server starts. */
export async function retryAtOnce(db: ControlDatabase): Promise<void> {
  for (const table of ["control.databases", "control.services"] as const) {
    await sql`update ${sql.table(table)} set retry_at = now() where state = 'FAILED' and retry_at > now()`.execute(db);
  }
}

/** An error as stored with databases, services and operations. */
export function toFailure(error: AppError): OperationError {
  const { code, detail, hint } = toProblem(error);
  return { code, detail, hint: hint ?? null };
}

/** The public form of an error that only the log contains. */
export function unexpected(): AppError {
  return appError("internal_error", {
    detail: "An unexpected error occurred. The server's log has the details.",
    hint: "Try again. If it persists, ask the operator to check the log.",
  });
}

/** Replaces the id by the database's name in an error: the code of pods and images knows only the id. */
export function nameDatabase<Failure extends OperationError>(failure: Failure, uri: string): Failure {
  return { ...failure, hint: failure.hint?.replaceAll("<db_uri>", uri) ?? null };
}
