import { AppError, appError } from "@appdb/contract/errors";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";

/** What to do about a PostgreSQL that cannot be started. The daemon tries it every few seconds. */
const CORRECT_IT =
  "Correct the cause; PostgreSQL then starts automatically. The full log is in logs/postgres.log of the home.";

/** Why PostgreSQL cannot be started; undefined while it is up, or has not failed yet. */
export function describeFailure(postgres: Pick<PostgresProvider, "failure">) {
  const found = postgres.failure?.();
  if (found === undefined) return undefined;
  return { detail: found.message, hint: found.code === "postgres_failed" ? CORRECT_IT : (found.hint ?? CORRECT_IT) };
}

/**
 * Names the cause in the error of a request that PostgreSQL did not answer, or the command that shows it. Returns any
 * other error unchanged. The disk explains itself (disks/machine-disk.ts).
 */
export function explainOutage(error: unknown, postgres: Pick<PostgresProvider, "failure">): unknown {
  if (!(error instanceof AppError) || error.code !== "database_unavailable") return error;
  const { hint, message, meta } = error;
  const failure = postgres.failure?.()?.code === "disk_full" ? undefined : describeFailure(postgres);
  if (failure !== undefined) return appError("database_unavailable", { ...failure, meta, cause: error });
  if (hint !== undefined) return error;
  const look = "Try again in a moment. If PostgreSQL does not answer then, see why: cli health";
  return appError("database_unavailable", { detail: message, hint: look, meta, cause: error });
}
