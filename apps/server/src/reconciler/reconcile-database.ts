import { AppError } from "@appdb/contract/errors";
import { isDatabaseLost } from "../database/pool.ts";
import { changeDatabase, toFailure, unexpected } from "./change-database.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { failStart } from "./fail-start.ts";
import { followDatabase } from "./follow-database.ts";
import { fromMachineError } from "./machine-errors.ts";
import { removeDatabase } from "./remove-database.ts";
import { runDatabase } from "./run-database.ts";
import { chooseWork, type SeenDatabase, seeDatabase, type Work } from "./see-database.ts";
import { stopDatabase } from "./stop-database.ts";

/** What is not understood is tried as often, with the pauses of the jobs; then a person is told. */
const MOST_ATTEMPTS = 4;

/** `moved` looks again at once; `later` leaves it to another job. */
export type WorkOutcome = "moved" | "later";

export interface ReconcileInput {
  readonly database_id: string;
  /** Of the job, from 1. */
  readonly attempt: number;
  /** Aborts when the reconciler stops. */
  readonly signal: AbortSignal;
}

/**
 * Takes a database towards what it shall be, until nothing is to be done. Each step looks at what is there, so that the job may
 * run twice, or be killed anywhere and run again; whatever is asked for meanwhile is seen at once.
 */
export async function reconcileDatabase(deps: ReconcileDeps, input: ReconcileInput): Promise<void> {
  const { database_id: databaseId, signal } = input;
  for (;;) {
    signal.throwIfAborted();
    const seen = await seeDatabase(deps.db, databaseId);
    if (seen === undefined) return;
    const work = chooseWork(seen);
    if (work === undefined) return;
    if ((await doWork(deps, seen, work, input)) === "later") return;
  }
}

async function doWork(
  deps: ReconcileDeps,
  seen: SeenDatabase,
  work: Work,
  { attempt, signal }: ReconcileInput,
): Promise<WorkOutcome> {
  await using following = await followDatabase(deps, seen);
  const either = AbortSignal.any([signal, following.signal]);
  try {
    return await WORKS[work](deps, seen, either);
  } catch (error) {
    // whatever it met, it was no longer wanted
    if (following.signal.aborted && !signal.aborted) return "moved";
    if (signal.aborted || isDatabaseLost(error) || work !== "run") throw error;
    const short = fromMachineError(error);
    if (short !== undefined) return await failStart(deps, seen, toFailure(short), either);
    if (error instanceof AppError) return await failStart(deps, seen, toFailure(error), either);
    if (attempt < MOST_ATTEMPTS) throw error;
    deps.log.error({ err: error, db: seen.row.id }, "a database could not be started");
    return await failStart(deps, seen, toFailure(unexpected()), either);
  }
}

const WORKS: Record<Work, (deps: ReconcileDeps, seen: SeenDatabase, signal: AbortSignal) => Promise<WorkOutcome>> = {
  run: runDatabase,
  retry,
  stop: stopDatabase,
  remove: removeDatabase,
  settle,
};

/** What the machine was short of may be there again. */
async function retry(deps: ReconcileDeps, seen: SeenDatabase): Promise<WorkOutcome> {
  deps.log.info({ db: seen.row.id, failed_starts: seen.row.failed_starts }, "a database that failed is started again");
  await changeDatabase(deps, seen, { event: "retry", set: { retry_at: null } });
  return "moved";
}

/** It is already as it was asked to be. */
async function settle(deps: ReconcileDeps, seen: SeenDatabase): Promise<WorkOutcome> {
  const { state, failure } = seen.row;
  const isFailed = state === "FAILED";
  const error = failure ?? toFailure(unexpected());
  await changeDatabase(deps, seen, {
    event: isFailed ? "start_failed" : "ready",
    end: isFailed ? { state: "failed", error } : { state: "succeeded" },
  });
  return "moved";
}
