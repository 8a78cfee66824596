import { type AppError, appError, toProblem } from "@appdb/contract/errors";
import { type RawBuilder, sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";
import type { OperationError } from "../../operations/run-operation.ts";

/** What the system says when the machine has no room left, in words for people. */
const SHORT_OF: Readonly<Record<string, string>> = {
  EAGAIN: "processes",
  ENOMEM: "memory",
  EMFILE: "open files of the server",
  ENFILE: "open files",
};
const FULL = new Set(["ENOSPC", "EDQUOT"]);
/** Deeper chains of causes do not occur. */
const DEEPEST = 5;

/** Reasons that lie with the machine or the settings of its server, never with what a tenant asked for. */
const OF_MACHINE = new Set<string>([
  "disk_full",
  "home_not_writable",
  "machine_exhausted",
  "pods_one_organization",
  "pods_unavailable",
  "python_not_found",
]);
/** Their pods run no code of an application before they are ready. */
const OF_MACHINE_FOR_DATABASES = new Set<string>(["pod_failed", "postgres_failed"]);

const FIRST_RETRY_S = 60;
const LONGEST_RETRY_S = 600;
/** As many starts fail within a few minutes before a database is FAILED. */
const QUICK_STARTS = 5;

/** An error of the system, or one with such a cause, as `disk_full` or `machine_exhausted`; undefined for any other. */
export function fromMachineError(error: unknown): AppError | undefined {
  let at: unknown = error;
  for (let depth = 0; depth < DEEPEST && at instanceof Error; depth += 1) {
    const code = "code" in at && typeof at.code === "string" ? at.code : "";
    if (FULL.has(code)) {
      return appError("disk_full", {
        detail: "The disk of the server is full.",
        hint: "Wait until its operator has freed space; the server then tries again.",
        cause: error,
      });
    }
    const what = SHORT_OF[code];
    if (what !== undefined) {
      return appError("machine_exhausted", {
        detail: `The server's machine is out of ${what} (${code}).`,
        hint: "Wait until its operator has made room; the server then tries again.",
        meta: { code },
        cause: error,
      });
    }
    at = at.cause;
  }
  return undefined;
}

/**
 * Seconds until the next start without a request, after one that failed with this code: 60 at first, 600 at most. Undefined when the reason
 * is not the machine's.
 */
export function retryAfter(kind: "database" | "service", code: string, failedStarts: number): number | undefined {
  const isMachine = OF_MACHINE.has(code) || (kind === "database" && OF_MACHINE_FOR_DATABASES.has(code));
  if (!isMachine) return undefined;
  return Math.min(LONGEST_RETRY_S, FIRST_RETRY_S * 2 ** Math.max(0, failedStarts - QUICK_STARTS));
}

/** That time by the database's clock; null for never. */
export function inSeconds(seconds: number | undefined): RawBuilder<Date> | null {
  return seconds === undefined ? null : sql<Date>`now() + make_interval(secs => ${seconds}::float8)`;
}

/** A server that starts may find what the machine lacked: whatever waits for another start has it now. */
export async function retryAtOnce(db: ControlDatabase): Promise<void> {
  for (const table of ["control.databases", "control.services"] as const) {
    await sql`update ${sql.table(table)} set retry_at = now() where state = 'FAILED' and retry_at > now()`.execute(db);
  }
}

/** An error as databases, services and operations store it. */
export function toFailure(error: AppError): OperationError {
  const { code, detail, hint } = toProblem(error);
  return { code, detail, hint: hint ?? null };
}

/** Stands for an error that only the log has. */
export function unexpected(): AppError {
  return appError("internal_error", {
    detail: "An unexpected error was met; the server's log has it.",
    hint: "Try again; if it stays, show the operator the log.",
  });
}

/** Names the database of an error: what makes pods and images knows it only by its id. */
export function nameDatabase<Failure extends OperationError>(failure: Failure, uri: string): Failure {
  return { ...failure, hint: failure.hint?.replaceAll("<db_uri>", uri) ?? null };
}
