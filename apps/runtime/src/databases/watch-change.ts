import { AppError } from "@appdb/contract/errors";
import type { Progress } from "@appdb/contract/routes/local";
import { watchJobs } from "@appdb/engine/jobs/watch-jobs";
import type { SqlPool } from "@appdb/engine/ports";
import type { ApplyDeps } from "@appdb/engine/schema/apply-schema";
import {
  type ChangedTables,
  type ChangeRequest,
  type Creating,
  endCreation,
} from "@appdb/engine/table-changes/change-table";
import type { Creations } from "@appdb/engine/table-changes/creations";

export interface WatchDeps extends ApplyDeps {
  readonly sql: SqlPool;
  /** Called when the jobs have ended; after the caller has left, also when what failed is undone. */
  readonly onFilled?: () => void;
  readonly creations: Creations;
  /** Keeps the database open. */
  hold(): Disposable;
}

/**
 * Waits for the jobs of a change. A table or view whose values cannot be computed is not created, and what it was to
 * replace stays. When the signal aborts, both continue in the background.
 * @throws fill_failed, job_cancelled, disk_full; the abort's reason
 */
export async function watchChange(
  deps: WatchDeps,
  request: ChangeRequest,
  { creating, jobs }: Pick<ChangedTables, "creating" | "jobs">,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  const watch = async (until: AbortSignal): Promise<void> => {
    if (creating === null) return await watchJobs(deps, jobs, onProgress, until);
    await watchJobs(deps, jobs, onProgress, until, () => undoCreation(deps, request, creating));
    await endCreation(deps, request, creating, { failed: false });
  };
  const ended = creating === null ? () => undefined : deps.creations.begin({ table: creating.table, jobs });
  let watching: Promise<void> = Promise.resolve();
  try {
    await watch(signal);
  } catch (error) {
    if (signal.aborted) watching = watchAlone(deps, watch);
    throw error;
  } finally {
    void watching.then(ended);
  }
}

/** Continues after the caller has left. */
async function watchAlone(deps: WatchDeps, watch: (until: AbortSignal) => Promise<void>): Promise<void> {
  using _held = deps.hold();
  try {
    await watch(new AbortController().signal);
  } catch (error) {
    deps.log.info({ error: String(error) }, "a change of a table was not completed");
  } finally {
    deps.onFilled?.();
  }
}

/** What is left of a creation whose job failed, for people. */
async function undoCreation(deps: WatchDeps, request: ChangeRequest, creating: Creating): Promise<string | undefined> {
  const path = `${request.database}/${creating.table}`;
  try {
    await endCreation(deps, request, creating, { failed: true });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    deps.log.warn({ error: error.message, table: path }, "a creation that failed could not be undone");
    return undefined;
  }
  return creating.aside === null ? `${path} was not created.` : `${path} is as it was before.`;
}
